package docs

import (
	"os"
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
` + "```sh\nhelm version\n```\ntext\n```sh\nhelm list\n```\n"
	got, err := ParseBlocks("a.md", page)
	want := []Block{
		{"a.md", 3, Demo, "", "kubectl get pods\n"}, {"a.md", 8, NotHere, "it needs a moon", "fly\nland\n"},
		{"a.md", 18, Kube, "", "helm version\n"}, {"a.md", 22, Kube, "", "helm list\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, page := range map[string]string{
		"a block without a mark":         "```sh\nx\n```\n",
		"a mark of another block":        "<!-- run: here -->\ntext\n```sh\nx\n```\n",
		"a place that there is not":      "<!-- run: there -->\n```sh\nx\n```\n",
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
		}
	}
	if seen == 0 {
		t.Error("no page has a block")
	}
}

func TestWatchesEnd(t *testing.T) {
	got := BoundWatches("kubectl get pods -w\nkubectl get pods\necho --watch\n")
	if want := "timeout 5 kubectl get pods -w || [ $? = 124 ]\nkubectl get pods\necho --watch\n"; got != want {
		t.Errorf("got %q", got)
	}
}
