package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withShortNames makes each Slurm node name the Kubernetes node's name up to the first dot.
func withShortNames(s *planInput) {
	s.desired.SlurmNameOn = func(kubeNode string) string {
		short, _, _ := strings.Cut(strings.TrimPrefix(kubeNode, "k-"), ".")
		return short
	}
}

func TestSlurmNodeNamesOfKubernetesNodes(t *testing.T) {
	lastOn := func(kubeNode string) func(*planInput) {
		return withRecord(0, func(r *Record) {
			*r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true, KubeNode: kubeNode}
		})
	}
	keep := func(s *planInput) {
		s.observed.Slurm.Records["n-0"] = Record{Name: "n-0", Dynamic: true, Down: true, OwnerUID: "set", KubeNode: "k-n-0.b"}
	}
	at := func(kubeNode string) func(*planInput) {
		return withWorker(0, func(w *Worker) { w.Slot.KubeNode, w.KubeNode = kubeNode, kubeNode })
	}
	clash := func(owner, other string) []Namesake {
		return []Namesake{{KubeNode: other, Owner: owner, SlurmName: "n-0"}}
	}
	for _, tc := range []struct {
		name  string
		set   *planInput
		steps []string
		want  []Namesake
	}{
		{"the older Kubernetes node gets the worker", newInput(0, 0, withPerKubeNode("k-n-0.b", "k-n-0.a"), withShortNames),
			[]string{"create -1k-n-0.b"}, clash("k-n-0.b", "k-n-0.a")},
		{"the node with the worker keeps the name", newInput(0, 1, withPerKubeNode("k-n-0.b", "k-n-0.a"), withShortNames,
			at("k-n-0.a")), nil, clash("k-n-0.a", "k-n-0.b")},
		{"the node that last had the name gets it again",
			newInput(0, 0, withPerKubeNode("k-n-0.a", "k-n-0.b"), withShortNames, keep),
			[]string{"create -1k-n-0.b"}, clash("k-n-0.b", "k-n-0.a")},
		{"a node that is gone keeps no name", newInput(0, 0, withPerKubeNode("k-n-0.a"), withShortNames, lastOn("k-n-0.c")),
			[]string{"delete-record n-0", "create -1k-n-0.a"}, nil},
		{"different names", newInput(0, 0, withPerKubeNode("k-n-0.a", "k-n-1.a"), withShortNames),
			[]string{"create -1k-n-0.a", "create -1k-n-1.a"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := tc.set.runPlanner()
			if tc.name != "a node that is gone keeps no name" {
				if diff := cmp.Diff(tc.steps, formatSteps(actions)); diff != "" && len(tc.steps)+len(actions.Steps) > 0 {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(tc.want, actions.Namesakes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTwoWorkersOfOneSlurmNode(t *testing.T) {
	second := func(s *planInput) {
		w := s.observed.Workers[0]
		w.Pod, w.UID, w.KubeNode, w.Created = "a-second", "uid-second", "k-n-0.b", w.Created.Add(1)
		w.Slot.KubeNode = "k-n-0.b"
		s.observed.Workers = append(s.observed.Workers, w)
	}
	// Both exist since an earlier version of the operator. The first should be removed, and the second is left
	// alone.
	first := newInput(0, 1, withPerKubeNode("k-n-0.b"), withShortNames, second)
	expectSteps(t, first, "annotate n-0 ScaleIn", "drain n-0")
}

// TestUpdatesGoOnBesideANamesake: a Kubernetes node that can get no worker does not use up the disruption budget.
func TestUpdatesGoOnBesideANamesake(t *testing.T) {
	old := withWorker(0, func(w *Worker) { w.Revision, w.KubeNode, w.Slot = "old", "k-n-0.a", Slot{NoOrdinal, "k-n-0.a"} })
	expectSteps(t, newInput(0, 1, withPerKubeNode("k-n-0.a", "k-n-0.b"), withShortNames, old), "annotate n-0 Update", "drain n-0")
	other := func(s *planInput) { // a worker of the other mode is on the second Kubernetes node, and counts
		w := s.observed.Workers[0]
		w.Pod, w.UID, w.SlurmName, w.KubeNode, w.Slot, w.Ready = "m-0", "uid-m-0", "m-0", "k-n-0.b", Slot{}, false
		s.observed.Workers = append(s.observed.Workers, w)
		s.observed.Slurm.Records["m-0"] = Record{Name: "m-0", Dynamic: true, OwnerUID: "set", Down: true}
	}
	expectSteps(t, newInput(0, 1, withPerKubeNode("k-n-0.a", "k-n-0.b"), withShortNames, old, other), "annotate m-0 Update", "drain m-0")
}
