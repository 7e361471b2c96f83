// Package pagetest compares the reference pages of the programs with their flags.
package pagetest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/internal/flagpage"
	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// CheckCurrent fails unless the program's page in docs/reference matches its flags. It must run in
// the program's folder. With rewrite it writes the page first; tests pass UpdateFlag.
func CheckCurrent(t *testing.T, program *flags.Program, rewrite *bool) {
	t.Helper()
	page := filepath.Join("docs", "reference", program.Name+".md")
	file := filepath.Join("..", "..", page)
	got, err := flagpage.Render(program)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // the page is public
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

// UpdateFlag defines the flag -update of a test.
func UpdateFlag() *bool { return flag.Bool("update", false, "rewrite the reference page of the flags") }
