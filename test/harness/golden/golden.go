// Package golden compares test results with files in testdata. A test that uses it has the flag -update, which rewrites
// the files.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// CheckObjects compares objects, as YAML documents, with testdata/name.golden.yaml.
func CheckObjects[T any](t *testing.T, name string, objects []T) {
	t.Helper()
	var got []byte
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, "---\n"...), text...)
	}
	CheckFile(t, filepath.Join("testdata", name+".golden.yaml"), got)
}

// CheckFile compares a text with the text of a file.
func CheckFile(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (-want +got), -update rewrites it:\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

// Load reads the object in testdata/name.yaml, which has no unknown fields.
func Load[T any](t *testing.T, name string) *T {
	t.Helper()
	out := new(T)
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
