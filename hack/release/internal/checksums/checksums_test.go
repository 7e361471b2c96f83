package checksums

import (
	"os"
	"path/filepath"
	"strings"
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

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(folder string) error
		want   string
	}{
		{"a release as it was made", func(string) error { return nil }, ""},
		{"a signature beside it", func(folder string) error { return os.WriteFile(filepath.Join(folder, File+".sig"), nil, 0o600) }, ""},
		{"a changed file", func(folder string) error { return os.WriteFile(filepath.Join(folder, "b.deb"), nil, 0o600) }, "no such checksum"},
		{"a new file", func(folder string) error { return os.WriteFile(filepath.Join(folder, "c.deb"), nil, 0o600) }, "c.deb"},
		{"a missing file", func(folder string) error { return os.Remove(filepath.Join(folder, "b.deb")) }, "is missing"},
		{"a truncated blob", func(folder string) error {
			return os.WriteFile(filepath.Join(folder, "a/blobs/sha256", sumOfX), nil, 0o600)
		}, "has the checksum"},
		{"no checksums", func(folder string) error { return os.Remove(filepath.Join(folder, File)) }, "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			for _, name := range []string{"b.deb", "a/index.json", "a/blobs/sha256/" + sumOfX} {
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
			if err := tc.damage(folder); err != nil {
				t.Fatal(err)
			}
			if err := Check(folder); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Check = %v, want %q", err, tc.want)
			}
		})
	}
}

const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
