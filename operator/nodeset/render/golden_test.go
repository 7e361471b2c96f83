package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/golden"
)

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
		"ssh":          atOrdinal(2),
	}
}

func TestObjectsOfANodeSet(t *testing.T) {
	for name, id := range goldenIdentities() {
		t.Run(name, func(t *testing.T) {
			golden.CheckObjects(t, name, objectsOf(t, loadInput(t, name), id))
		})
	}
}

// TestWorkerWithAnAgent checks the parts that slurm-agent adds to a worker. Workers without their own process
// namespace or network have no agent.
func TestWorkerWithAnAgent(t *testing.T) {
	for name, want := range map[string]bool{"minimal": true, "hostnetwork": false} {
		in := loadInput(t, name)
		in.AgentImage = "registry.example.com/slurm-agent:1"
		pod, err := Worker(in, templateOf(t, in), goldenIdentities()[name])
		if err != nil {
			t.Fatal(err)
		}
		if !want {
			in.AgentImage = ""
			without, err := Worker(in, templateOf(t, in), goldenIdentities()[name])
			if diff := cmp.Diff(without, pod); diff != "" || err != nil {
				t.Errorf("%v; a worker with the network of its Kubernetes node has an agent:\n%s", err, diff)
			}
			continue
		}
		golden.CheckObjects(t, "agent", []any{pod})
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
	golden.CheckObjects(t, "cluster", []any{Service("slurm", "slurm"), Budget("slurm", "slurm")})
}
