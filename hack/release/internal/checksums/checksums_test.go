package checksums

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteListsFilesButNoBlobsAndSignatures(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b.deb", "a/index.json", "a/blobs/sha256/00", "SHA256SUMS.sigstore.json", "SHA256SUMS"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		t.Fatal(err)
	}
	const sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	if want := sum + "  a/index.json\n" + sum + "  b.deb\n"; string(got) != want {
		t.Errorf("Write wrote\n%swant\n%s", got, want)
	}
}
