package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fileBlock matches a block that shows a whole file, whose path is relative to the page.
var fileBlock = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```\\w*\n(.*?)```\n")

// TestBlocksOfFilesAreTheirs: a page that shows an example shows the file that a test runs.
func TestBlocksOfFilesAreTheirs(t *testing.T) {
	const root = "../.."
	pages, err := ListPages(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fileBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			file, err := os.ReadFile(filepath.Join(root, filepath.Dir(page), m[1]))
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if diff := cmp.Diff(string(file), m[2]); diff != "" {
				t.Errorf("%s shows another %s (-file +page):\n%s", page, m[1], diff)
			}
		}
	}
	if blocks == 0 {
		t.Error("no page shows a file")
	}
}
