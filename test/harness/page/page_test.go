package page

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/tools/docs"
)

func TestManifests(t *testing.T) {
	text := "# A page\n```yaml\na: 1\n```\n```sh\nls\n```\ntext\n\n```yaml\nb:\n  c: 2\n```\n"
	if diff := cmp.Diff([]string{"a: 1\n", "b:\n  c: 2\n"}, manifestsOf(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBlocks runs a page of two blocks, the second of which fails.
func TestBlocks(t *testing.T) {
	blocks := []docs.Block{{Page: "a.md", Line: 1, Script: "ssh moon hostname\n"}, {Page: "a.md", Line: 5, Script: "false | cat\necho no\n"}}
	p := &Page{Folder: t.TempDir(), name: "a.md", blocks: blocks, all: blocks,
		StandIns: []StandIn{{Text: "ssh moon", With: "echo", Why: "there is no network on the moon"}}}
	if out := p.Next(t, "hostname"); out != "hostname\n" {
		t.Errorf("the first block prints %q", out)
	}
	if out := p.NextFails(t, "false"); out != "" {
		t.Errorf("the second block prints %q", out)
	}
	p.End(t)
	if b := p.Find(t, "cat"); b.Line != 5 {
		t.Errorf("the block with cat is in line %d", b.Line)
	}
}

func TestReplaceAll(t *testing.T) {
	if got := ReplaceAll(t, "a b a", "a", "c", "b", "a"); got != "c a c" {
		t.Errorf("got %q", got)
	}
}
