package plan

import (
	"testing"
	"time"
)

// TestANameOfOthersStopsNoUpdate: one of four names belongs to others for good, so that three workers run. They are updated in place, one at a
// time.
func TestANameOfOthersStopsNoUpdate(t *testing.T) {
	withKubeNode := func(s *planInput) { s.desired.KubeNodes = append(s.desired.KubeNodes, "k-n-3") }
	for name, s := range map[string]*planInput{
		"ordinals, slurm.conf":         newInput(4, 3, withMost(4), withBudget(1), withNewNames("n-%d"), withReserved("n-3")),
		"ordinals, Slurm":              newInput(4, 3, withMost(4), withBudget(1), withNewNames("n-%d"), withOwned("n-3")),
		"Kubernetes nodes, slurm.conf": newInput(0, 3, withBudget(1), withKubeNodes(3), withNewNames("n-%d"), withReserved("n-3"), withKubeNode),
		"Kubernetes nodes, Slurm":      newInput(0, 3, withBudget(1), withKubeNodes(3), withNewNames("n-%d"), withOwned("n-3"), withKubeNode),
	} {
		t.Run(name, func(t *testing.T) {
			if actions, names := s.playUpdate(); actions.Outdated > 0 || len(s.observed.Workers) != 3 {
				t.Errorf("%d of %s are outdated for ever", actions.Outdated, names)
			}
		})
	}
}

// TestAnUpdateNeedsTheNewNameOfItsKubernetesNode: in scaling mode DaemonSet a worker that could not come back stays.
func TestAnUpdateNeedsTheNewNameOfItsKubernetesNode(t *testing.T) {
	withNames := func(nameOn func(kubeNode string) string) func(*planInput) {
		return func(s *planInput) { s.desired.SlurmNameOn = nameOn }
	}
	renamed := withNames(func(kubeNode string) string { return "m-" + kubeNode[4:] })
	taken := withNode("m-0", func(r *Record) { r.Busy = true }) // a slurmd without a pod
	for name, s := range map[string]*planInput{
		"two get the name that one has": newInput(0, 3, withBudget(3), withKubeNodes(3), withNewNames("n-%d"), withNames(func(kubeNode string) string {
			if kubeNode == "k-n-2" {
				return "n-2"
			}
			return "n-1"
		})),
		"all get one new name": newInput(0, 3, withBudget(1), withKubeNodes(3), withNames(func(string) string { return "m" })),
		"an invalid name": newInput(0, 3, withBudget(1), withKubeNodes(3), withNewNames("n-%d"), withNames(func(kubeNode string) string {
			if kubeNode == "k-n-1" {
				return ""
			}
			return kubeNode[2:]
		})),
		"a slurmd without a pod has it":                  newInput(0, 2, withBudget(2), withKubeNodes(2), renamed, taken),
		"a slurmd without a pod has it, in an update":    newInput(0, 2, withBudget(2), withKubeNodes(2), withNewNames("n-%d"), renamed, taken),
		"two swap their names, and both are updated":     newInput(0, 2, withBudget(1), withKubeNodes(2), withNames(swapNames)),
		"two swap their names in an update of their own": newInput(0, 2, withBudget(1), withKubeNodes(2), withNewNames("n-%d"), withNames(swapNames)),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(s.observed.Workers)
			for i := range before {
				withKubeNodeSlot(i)(s)
			}
			actions, names := s.playUpdate()
			if len(s.observed.Workers) != before || len(actions.Steps) > 0 {
				t.Errorf("%d workers are left of %d: %s; the next steps are %v", len(s.observed.Workers), before, names, formatSteps(actions))
			}
		})
	}
}

func swapNames(kubeNode string) string {
	return map[string]string{"k-n-0": "n-1", "k-n-1": "n-0"}[kubeNode]
}

// TestTheTimeOfADrainIsBounded: anybody can write the annotation, and clocks are set.
func TestTheTimeOfADrainIsBounded(t *testing.T) {
	isDeleted := func(s *planInput) bool {
		for _, step := range s.runPlanner().Steps {
			if step.Verb == DeletePod {
				return true
			}
		}
		return false
	}
	input := func(since, drained time.Time, timeout time.Duration) *planInput {
		return newInput(0, 1, withJob(0, 7, 0), withOurDrain(0), withCause(0, causeScaleIn), withTimeout(timeout),
			withWorker(0, func(w *Worker) {
				w.DrainMark.Drained = drained
				if !since.IsZero() {
					w.DrainMark.Since = since
				}
			}))
	}
	if isDeleted(input(time.Time{}, noon.AddDate(-1, 0, 0), 24*time.Hour)) {
		t.Error("a worker is deleted under its job for a time before it was chosen")
	}
	future := input(noon.AddDate(1, 0, 0), noon.AddDate(1, 0, 0), time.Hour)
	for now := noon; now.Before(noon.Add(4 * time.Hour)); now = now.Add(10 * time.Minute) {
		future.observed.Slurm.NodesReadAt, future.observed.Slurm.JobsReadAt = now, now
		actions := New(DefaultConfig()).Plan(now, future.desired, future.observed)
		for _, step := range actions.Steps {
			if step.Verb == DeletePod {
				return
			}
		}
		future.playPlan(actions)
	}
	t.Errorf("a timeout of an hour has not passed after 4 hours: %+v", future.observed.Workers[0].DrainMark)
}

// TestAPendingWorkerThatDoesNotAvoidANameIsDeleted: it is created again with the name among those that it avoids.
func TestAPendingWorkerThatDoesNotAvoidANameIsDeleted(t *testing.T) {
	pending := withWorker(0, func(w *Worker) {
		w.ExposedTo, w.KubeNode, w.SlurmName, w.Running, w.Ready, w.NeverStarted = "x-0", "", "", false, false, true
	})
	scheduled := withWorker(0, func(w *Worker) { w.KubeNode = "x-0" })
	frozen := func(s *planInput) { s.desired.Frozen = true }
	for name, tc := range map[string]struct {
		set  *planInput
		want bool
	}{
		"pending":              {newInput(1, 1, pending), true},
		"it was scheduled":     {newInput(1, 1, pending, scheduled), false},
		"the reading is stale": {newInput(1, 1, pending, withStaleReading), false},
		"the NodeSet cannot create another worker": {newInput(1, 1, pending, frozen), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := false
			for _, step := range tc.set.runPlanner().Steps {
				got = got || step.Verb == DeletePod && step.Pod == "n-0"
				if step.Verb == CreatePod {
					t.Errorf("a worker is created before the pod is gone: %+v", step)
				}
			}
			if got != tc.want {
				t.Errorf("deleted: %v, want %v", got, tc.want)
			}
		})
	}
}
