//go:build e2e

package exporter

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/slurm/numbers"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// binary is the path of slurm-exporter, which TestMain builds once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if missing := realslurm.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	dir, err := os.MkdirTemp("", "exporter")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = process.Build(context.Background(), dir, "slurm-exporter"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// startExporter starts the program and waits until it is ready.
func startExporter(t *testing.T, flags ...string) *numbers.Exporter {
	t.Helper()
	return numbers.StartExporter(t, binary, flags...)
}
