package docs

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

func TestGoNames(t *testing.T) {
	page := "`a/b` no; slurmclient/demand.Compute(now), operator/nodeset/plan.Planner.Plan and slurmclient/demand\n" +
		"slurmclient/demand.Compute again; the exporter alone is a word, operators/x is not ours."
	want := []string{"slurmclient/demand.Compute", "operator/nodeset/plan.Planner.Plan", "slurmclient/demand"}
	if got := GoNames(page); !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

func TestCheckGoName(t *testing.T) {
	tree := fstest.MapFS{
		"operator/plan/plan.go": {Data: []byte(
			"package plan\ntype Planner[T any] struct{}\nfunc (p *Planner[T]) Plan() {}\nfunc New() {}\n" +
				"type Step interface { Clock; Run() }\n")},
		"operator/plan/plan_test.go": {Data: []byte("package plan\nfunc ofTests() {}\n")},
	}
	for name, exists := range map[string]bool{
		"operator/plan": true, "operator/plan.New": true, "operator/plan.Planner": true,
		"operator/plan.Planner.Plan": true, "operator/plan.Step.Run": true, "operator/plan.Step.Gone": false,
		"operator/gone": false, "operator/plan.Gone": false, "operator/plan.Planner.Gone": false,
		"operator/plan.ofTests": false,
	} {
		if err := CheckGoName(tree, name); (err == nil) != exists {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesOfPagesExist checks that the packages and functions that these pages name exist.
func TestNamesOfPagesExist(t *testing.T) {
	tree := os.DirFS("../..")
	for page, least := range map[string]int{"docs/architecture.md": 25} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		names := GoNames(string(text))
		if len(names) < least {
			t.Errorf("%s names %d packages and functions, want %d at least", page, len(names), least)
		}
		for _, name := range names {
			if err := CheckGoName(tree, name); err != nil {
				t.Errorf("%s: %s: %v", page, name, err)
			}
		}
	}
}

// TestFilesOfPagesExist checks that the files that this page names exist.
func TestFilesOfPagesExist(t *testing.T) {
	const page = "CONTRIBUTING.md"
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	files := FileNames(string(text))
	if len(files) < 25 {
		t.Errorf("%s names %d files, want 25 at least", page, len(files))
	}
	for _, file := range files {
		if _, err := os.Stat("../../" + file); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
}

func TestFileNames(t *testing.T) {
	page := "`operator/wakeup/plan.go`, `operator/wakeup`, `go test ./x/y.go`, `docs/a.md` and `operator/wakeup/plan.go`"
	if got, want := FileNames(page), []string{"operator/wakeup/plan.go", "docs/a.md"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
}
