package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/internal/flagpage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/slurm-exporter.md")

func TestTheReferenceIsCurrent(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "slurm-exporter.md")
	app, _ := application()
	got, err := flagpage.Of(app.Model())
	if err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("docs/reference/slurm-exporter.md is not current (make generate):\n%s", diff)
	}
}
