//go:build e2e

package menagerie

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// The programs, which are built once.
var exporterBinary, pluginBinary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if missing := realslurm.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	dir, err := os.MkdirTemp("", "menagerie")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for name, binary := range map[string]*string{"slurm-exporter": &exporterBinary, "kubectl-slurm": &pluginBinary} {
		if *binary, err = process.Build(context.Background(), dir, name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}
