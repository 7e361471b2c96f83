package docs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	page := `# A page
<!-- run: demo -->
` + "```sh\nkubectl get pods\n```" + `
<!-- run: not here: it needs a moon -->

` + "```sh\nfly\nland\n```\n\n```yaml\na: b\n```\n" + `
<!-- run all: kube -->
` + "```sh\nhelm version\n```\ntext\n```sh\nhelm list\n```\n" + `
<!-- run: test: TestMoon of test/e2e/moon -->
` + "```sh\nland\n```\n"
	got, err := ParseBlocks("a.md", page)
	want := []Block{
		{Page: "a.md", Line: 3, Place: Demo, Script: "kubectl get pods\n"},
		{Page: "a.md", Line: 8, Place: NotHere, Why: "it needs a moon", Script: "fly\nland\n"},
		{Page: "a.md", Line: 18, Place: Kube, Script: "helm version\n"}, {Page: "a.md", Line: 22, Place: Kube, Script: "helm list\n"},
		{Page: "a.md", Line: 27, Place: Test, Test: "TestMoon", Package: "test/e2e/moon", Script: "land\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, page := range map[string]string{
		"a block without a mark":         "```sh\nx\n```\n",
		"a mark of another block":        "<!-- run: here -->\ntext\n```sh\nx\n```\n",
		"a place that there is not":      "<!-- run: there -->\n```sh\nx\n```\n",
		"a test without its folder":      "<!-- run: test: TestMoon -->\n```sh\nx\n```\n",
		"one left out without a reason":  "<!-- run: not here -->\n```sh\nx\n```\n",
		"a block that does not come end": "<!-- run: here -->\n```sh\nx\n",
	} {
		if _, err := ParseBlocks("a.md", page); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}

func TestEveryBlockOfTheProjectsPagesSaysWhereItIsRun(t *testing.T) {
	pages, err := ListPages(t.Context(), "../..")
	if err != nil {
		t.Skipf("this is no clone: %v", err)
	}
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := ParseBlocks(page, string(text))
		if err != nil {
			t.Error(err)
		}
		seen += len(blocks)
		for _, b := range blocks {
			if strings.TrimSpace(b.Script) == "" {
				t.Errorf("%s is empty", b)
			}
			if b.Place == Test && !declaresTest(t, filepath.Join("../..", b.Package), b.Test) {
				t.Errorf("%s is run by %s, which %s does not declare", b, b.Test, b.Package)
			}
		}
	}
	if seen == 0 {
		t.Error("no page has a block")
	}
}

// declaresTest reports whether a file of a folder declares a test.
func declaresTest(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+test+"(")
	})
}

func TestWatchesEnd(t *testing.T) {
	got := BoundWatches("kubectl get pods -w\nkubectl get pods\necho --watch\n")
	if want := "timeout 5 kubectl get pods -w || [ $? = 124 ]\nkubectl get pods\necho --watch\n"; got != want {
		t.Errorf("got %q", got)
	}
}
