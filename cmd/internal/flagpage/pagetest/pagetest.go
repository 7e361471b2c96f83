// Package pagetest holds the reference pages of the programs to their flags.
package pagetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/internal/flagpage"
)

// Current fails unless docs/reference has the page of the program as its flags are now.
// It is called in the program's folder. With rewrite it writes the page first; a test
// calls it with a flag -update.
func Current(t *testing.T, app *kingpin.Application, rewrite *bool) {
	t.Helper()
	page := filepath.Join("docs", "reference", app.Name+".md")
	file := filepath.Join("..", "..", page)
	got, err := flagpage.Of(app.Model())
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a page for all
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not current (make generate):\n%s", page, diff)
	}
}

// Update is the flag -update of a test.
func Update() *bool { return flag.Bool("update", false, "rewrite the reference page of the flags") }
