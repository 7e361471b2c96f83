//go:build e2e

package wakeup

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// binary is the path of slurm-operator, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if missing := realkube.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		return 1
	}
	dir, err := os.MkdirTemp("", "operator")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = process.Build(context.Background(), dir, "slurm-operator"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	log.SetLogger(logr.Discard()) // the stand-in's client warns without a logger
	// The tests mostly wait, so more of them than CPUs can run at a time.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// requireStays fails the test if look returns anything but the wanted value within the span.
func requireStays(t *testing.T, span time.Duration, what, want string, look func(context.Context) (string, error)) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got, err := look(t.Context()); err != nil || got != want {
			t.Fatalf("%s became %q (%v), not %q", what, got, err, want)
		}
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)) + "\n"
}
