package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/command"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/doctor"
)

var update = flag.Bool("update", false, "rewrite docs/reference/cli.md")

func TestTheReferenceIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "..", "..", "docs", "reference", "cli.md")
	got := renderPage(command.New(command.Streams{}, time.Now, ""))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/reference/cli.md is not current:\n%s", diff)
	}
}

func TestThePageListsEveryCommandAndFault(t *testing.T) {
	text := renderPage(command.New(command.Streams{}, time.Now, ""))
	for _, name := range []string{"top partitions", "top nodes", "top jobs", "top nodesets", "top users",
		"explain nodeset", "explain job", "doctor"} {
		if !strings.Contains(text, "\n## kubectl slurm "+name+"\n") {
			t.Errorf("%s is missing", name)
		}
	}
	for _, c := range doctor.Codes() {
		if !strings.Contains(text, "- `"+string(c)+"`\n") {
			t.Errorf("%s is missing", c)
		}
	}
}
