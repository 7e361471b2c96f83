package configagent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadFilesReadsOneVersion: the kubelet replaces the folder ..data in one step, and the links beside it before or after
// that, one by one. An included file that is not linked yet would be missing in the checked and applied files.
func TestReadFilesReadsOneVersion(t *testing.T) {
	const first, second = "..1", "..2"
	dir := t.TempDir()
	link := func(target, name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.Symlink(target, path+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		files, err := ReadFiles(dir)
		got := files.texts(func(string) bool { return true })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", when, err, diff)
		}
	}
	for folder, files := range map[string]Files{first: {"slurm.conf": {[]byte("Include old.conf"), 0o444},
		"old.conf": {[]byte("TreeWidth=1"), 0o444}}, second: {"slurm.conf": {[]byte("Include new.conf"), 0o444},
		"new.conf": {[]byte("TreeWidth=2"), 0o444}}} {
		if err := WriteFiles(filepath.Join(dir, folder), files); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]string{"slurm.conf": "Include old.conf", "old.conf": "TreeWidth=1"}
	after := map[string]string{"slurm.conf": "Include new.conf", "new.conf": "TreeWidth=2"}
	link(first, "..data")
	link("..data/slurm.conf", "slurm.conf")
	link("..data/old.conf", "old.conf")
	check("before", before)
	link("..data/new.conf", "new.conf") // the kubelet links new files, in some versions first, in others last
	check("while a new file has its link already", before)
	if err := os.Remove(filepath.Join(dir, "new.conf")); err != nil {
		t.Fatal(err)
	}
	link(second, "..data")
	check("while no link has changed yet", after)
	link("..data/new.conf", "new.conf")
	if err := os.Remove(filepath.Join(dir, "old.conf")); err != nil {
		t.Fatal(err)
	}
	check("after", after)
}
