package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var updateGoldens = flag.Bool("update", false, "rewrite the files in testdata")

// goldenIdentities are the NodeSets of testdata with the worker that is rendered.
func goldenIdentities() map[string]Identity {
	pinned := atOrdinal(7)
	pinned.KubeNode = "kube-a.example.com"
	pinned.Facts = KubeNodeFacts{Topology: "rack:r1", Features: "ssd, rack1"}
	return map[string]Identity{
		"minimal":      atOrdinal(0),
		"everything":   pinned,
		"daemonset":    {KubeNode: "kube-a.example.com", Revision: "0123456789"},
		"unprivileged": atOrdinal(0),
		"hostnetwork":  atOrdinal(1),
	}
}

func TestObjectsOfANodeSet(t *testing.T) {
	for name, id := range goldenIdentities() {
		t.Run(name, func(t *testing.T) {
			compareGolden(t, name, objectsOf(t, loadInput(t, name), id))
		})
	}
}

// objectsOf returns all objects that are rendered for a NodeSet and one of its workers.
func objectsOf(t *testing.T, in Input, id Identity) []any {
	t.Helper()
	pod, err := Worker(in, templateOf(t, in), id)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := Claims(in, id)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := RevisionOf(in)
	if err != nil {
		t.Fatal(err)
	}
	out := []any{pod}
	for _, c := range claims {
		out = append(out, c)
	}
	return append(out, RevisionObject(in, revision, 1))
}

func TestObjectsOfACluster(t *testing.T) {
	compareGolden(t, "cluster", []any{Service("slurm", "slurm"), Budget("slurm", "slurm")})
}

// compareGolden compares objects with a file.
func compareGolden(t *testing.T, name string, objects []any) {
	t.Helper()
	var got []byte
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, "---\n"...), text...)
	}
	path := filepath.Join("testdata", name+".golden.yaml")
	if *updateGoldens {
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
