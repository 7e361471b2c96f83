package plan

import (
	"fmt"
	"testing"
)

// withKubeNodes adds a worker on each of count Kubernetes nodes, from k-n-0.
func withKubeNodes(count int) func(*planInput) {
	return func(s *planInput) {
		s.desired.PerKubeNode, s.desired.MaxWorkers = true, nil
		for i := range count {
			s.desired.KubeNodes = append(s.desired.KubeNodes, fmt.Sprintf("k-n-%d", i))
		}
	}
}

// withKubeNodeSlot makes a worker one of scaling mode DaemonSet.
func withKubeNodeSlot(i int) func(*planInput) {
	return withWorker(i, func(w *Worker) { w.Slot = Slot{Ordinal: NoOrdinal, KubeNode: w.KubeNode} })
}

func TestTheScalingModeChangesWithinTheBudget(t *testing.T) {
	elsewhere := func(s *planInput) { s.desired.SlurmNameOn = func(kubeNode string) string { return kubeNode } }
	ordinals := func(s *planInput) { s.desired.SlurmName = func(i int) string { return fmt.Sprintf("m-%d", i) } }
	slots := func(s *planInput) {
		for i := range s.observed.Workers {
			withKubeNodeSlot(i)(s)
		}
	}
	perNode := newInput(0, 3, withKubeNodes(3), elsewhere)
	actions := expectSteps(t, perNode, "annotate n-2 Update", "drain n-2")
	if actions.Outdated != 3 || actions.Leaving != 0 {
		t.Errorf("%d outdated, %d leaving", actions.Outdated, actions.Leaving)
	}
	expectSteps(t, newInput(0, 3, withKubeNodes(4), elsewhere), "create -1k-n-3")
	perOrdinal := newInput(3, 3, slots, ordinals)
	if actions := expectSteps(t, perOrdinal, "annotate n-2 Update", "drain n-2"); actions.Outdated != 3 {
		t.Errorf("%d outdated", actions.Outdated)
	}
	paused := newInput(3, 3, slots, ordinals)
	paused.desired.Update.Allowed = false
	if actions := expectSteps(t, paused); actions.Outdated != 3 {
		t.Errorf("%d outdated while updates are paused", actions.Outdated)
	}
	expectSteps(t, newInput(2, 3, slots, ordinals),
		"annotate n-1 Update", "annotate n-2 ScaleIn", "drain n-1", "drain n-2")
}

// TestNamesOfWorkersOfTheOtherMode: a second slurmd of a name would take over the Slurm node of the first.
func TestNamesOfWorkersOfTheOtherMode(t *testing.T) {
	drained := func(s *planInput) { withRecord(0, func(r *Record) { r.Drain = true })(s) }
	at := func(kubeNode string) func(*planInput) {
		return withWorker(0, func(w *Worker) { w.KubeNode = kubeNode })
	}
	for name, tc := range map[string]struct {
		input *planInput
		want  []string
	}{
		"an ordinal whose name a worker on a Kubernetes node has": {newInput(2, 1, withKubeNodeSlot(0), withPausedUpdates),
			[]string{"create 1"}},
		"also when that one is drained": {newInput(2, 1, withKubeNodeSlot(0), drained, withPausedUpdates), []string{"create 1"}},
		"a Kubernetes node whose name an ordinal has elsewhere": {newInput(0, 1, withKubeNodes(2), at("k-other"), withPausedUpdates),
			[]string{"create -1k-n-1"}},
		"also when the ordinal is not scheduled": {newInput(0, 1, withKubeNodes(2), at(""), withPausedUpdates),
			[]string{"create -1k-n-1"}},
	} {
		t.Run(name, func(t *testing.T) { expectSteps(t, tc.input, tc.want...) })
	}
}

func withPausedUpdates(s *planInput) { s.desired.Update.Allowed = false }
