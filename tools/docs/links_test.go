package docs

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLinks(t *testing.T) {
	page := "# A page\n\n[one](b.md) and [two](../c.md#x \"title\"), ![p](p.png), [far](https://example.org), `[no](code.md)`\n" +
		"```sh\n[no](fenced.md)\n```\n[ref]: d.md\n<img alt=\"x\" src=\"i.svg\">\n[here](#a-page)\n"
	want := []Link{{"docs/a.md", 3, "b.md"}, {"docs/a.md", 3, "../c.md#x"}, {"docs/a.md", 3, "p.png"},
		{"docs/a.md", 7, "d.md"}, {"docs/a.md", 8, "i.svg"}, {"docs/a.md", 9, "#a-page"}}
	if diff := cmp.Diff(want, ParseLinks("docs/a.md", page)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	page := "# What `sbatch` does: it's easy!\n## Twice\n## Twice\n#no heading\n```\n# a comment\n```\n### A [link](x.md) of old\n"
	want := []string{"what-sbatch-does-its-easy", "twice", "twice-1", "a-link-of-old"}
	if diff := cmp.Diff(want, Anchors(page)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBroken(t *testing.T) {
	tree := fstest.MapFS{"README.md": {Data: []byte("# Top\n")}, "docs/a.md": {Data: []byte("# A\n")},
		"docs/x/y.png": {}}
	for target, ok := range map[string]bool{
		"../README.md": true, "../README.md#top": true, "#a": true, "x": true, "x/y.png": true,
		"../README.md#bottom": false, "#b": false, "b.md": false, "../../out.md": false,
	} {
		broken, err := BrokenLinks(tree, []Link{{"docs/a.md", 1, target}})
		if err != nil || (len(broken) == 0) != ok {
			t.Errorf("%s: broken %v, %v", target, broken, err)
		}
	}
}

// TestEveryLinkOfTheProjectsPagesLeadsSomewhere checks the pages that are tracked in Git.
func TestEveryLinkOfTheProjectsPagesLeadsSomewhere(t *testing.T) {
	pages, err := ListPages(t.Context(), "../..")
	if err != nil {
		t.Skipf("this is no clone: %v", err)
	}
	tree, seen := os.DirFS("../.."), 0
	for _, page := range pages {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		links := ParseLinks(page, string(text))
		seen += len(links)
		broken, err := BrokenLinks(tree, links)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range broken {
			t.Errorf("%s:%d: broken link %s", l.Page, l.Line, l.Target)
		}
	}
	if seen == 0 {
		t.Error("no page has a link")
	}
}
