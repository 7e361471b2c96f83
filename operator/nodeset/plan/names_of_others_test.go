package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestANameOfOthersStopsNoUpdate: one of four names belongs to others permanently, so three workers run. They are updated in place, one
// at a time.
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
			withKubeNodeSlots(s)
			before := len(s.observed.Workers)
			actions, names := s.playUpdate()
			if len(s.observed.Workers) != before || len(actions.Steps) > 0 {
				t.Errorf("%d workers are left of %d: %s; the next steps are %v", len(s.observed.Workers), before, names, formatSteps(actions))
			}
			if actions.Outdated > 0 && actions.SuccessorProblem == "" && len(actions.Taken) == 0 {
				t.Errorf("%d of %s are outdated without a reason", actions.Outdated, names)
			}
		})
	}
}

// TestAChangeOfTheModeNeedsValidAndFreeNames: a worker of the other mode stays while its Kubernetes node can get no name.
func TestAChangeOfTheModeNeedsValidAndFreeNames(t *testing.T) {
	for name, change := range map[string]func(*planInput){
		"an invalid name": func(s *planInput) {
			s.desired.SlurmNameOn = func(kubeNode string) string { return map[string]string{"k-n-1": "n-1"}[kubeNode] }
		},
		"a slurmd without a pod has it": func(s *planInput) {
			s.desired.SlurmNameOn = func(kubeNode string) string { return "m-" + kubeNode[4:] }
			withNode("m-0", func(r *Record) { r.Busy = true })(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(0, 2, withBudget(2), withKubeNodes(2), change)
			if actions, names := s.playUpdate(); len(s.observed.Workers) != 2 || actions.Outdated != 1 || !strings.Contains(names, "n-0") {
				t.Errorf("workers are %s, %d outdated", names, actions.Outdated)
			}
		})
	}
}

func swapNames(kubeNode string) string {
	return map[string]string{"k-n-0": "n-1", "k-n-1": "n-0"}[kubeNode]
}

// TestRandomNamesOfKubernetesNodesLoseNoWorker: each Kubernetes node gets another name, often one that another node still has.
func TestRandomNamesOfKubernetesNodesLoseNoWorker(t *testing.T) {
	for seed := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		count := 1 + rnd.IntN(5)
		s := newInput(0, count, withBudget(1+rnd.IntN(count)), withKubeNodes(count))
		withKubeNodeSlots(s)
		if rnd.IntN(2) == 0 {
			withNewNames("n-%d")(s)
		}
		pool := rnd.Perm(2 * count)
		s.desired.SlurmNameOn = func(kubeNode string) string {
			i := 0
			_, _ = fmt.Sscanf(kubeNode, "k-n-%d", &i)
			return fmt.Sprintf("n-%d", pool[i])
		}
		if actions, names := s.playUpdate(); len(s.observed.Workers) != count || len(actions.Steps) > 0 ||
			actions.Outdated > 0 && actions.SuccessorProblem == "" {
			t.Errorf("seed %d: %d of %d workers are left: %s; %d are outdated because %q; the next steps are %v", seed, len(s.observed.Workers),
				count, names, actions.Outdated, actions.SuccessorProblem, formatSteps(actions))
		}
	}
}

// TestAKubernetesNodeWithAnInvalidNameGetsNoWorker, and does not stop the updates of others.
func TestAKubernetesNodeWithAnInvalidNameGetsNoWorker(t *testing.T) {
	s := newInput(0, 1, withKubeNodes(2), withKubeNodeSlots, withNewNames("n-%d"), func(s *planInput) {
		s.desired.SlurmNameOn = func(kubeNode string) string { return map[string]string{"k-n-0": "n-0"}[kubeNode] }
	})
	actions := expectSteps(t, s, "annotate n-0 Update", "drain n-0")
	if !slices.Equal(actions.InvalidNames, []string{"k-n-1"}) {
		t.Errorf("InvalidNames = %v, want k-n-1", actions.InvalidNames)
	}
}

// withShiftedNames has ordinal 0 keep the name below the partition that ordinal 1 would get now.
func withShiftedNames(s *planInput) {
	s.desired.Update.Partition = 1
	shifted := newInput(3, 4)
	s.observed.Slurm.Records = shifted.observed.Slurm.Records
	for i := range s.observed.Workers {
		s.observed.Workers[i].SlurmName, s.observed.Workers[i].Revision = fmt.Sprintf("n-%d", i+1), "old"
	}
	delete(s.observed.Slurm.Records, "n-0")
	s.desired.SlurmNameIn = func(_ string, i int) string { return fmt.Sprintf("n-%d", i+1) }
	s.observed.Revisions = []Revision{{Hash: "old", Name: "r-old", Number: 1}, {Hash: "new", Name: "r-new", Number: 2}}
}

// TestANameThatAnotherOrdinalKeeps stops the update of a worker, and the creation of a missing one, for a reason.
func TestANameThatAnotherOrdinalKeeps(t *testing.T) {
	actions, names := newInput(3, 3, withMost(3), withBudget(3), withShiftedNames).playUpdate()
	if want := "worker n-0 keeps the name n-1"; actions.SuccessorProblem != want || names != "n-1 n-2 n-3" {
		t.Errorf("workers %s stay because %q, want %q", names, actions.SuccessorProblem, want)
	}
	missing := newInput(3, 3, withMost(3), withShiftedNames, withLostPod(1), func(s *planInput) {
		delete(s.observed.Slurm.Records, "n-2")
	})
	want := []KeptName{{Ordinal: 1, SlurmName: "n-1", Pod: "n-0"}}
	if got := missing.runPlanner().KeptNames; !slices.Equal(got, want) {
		t.Errorf("KeptNames = %v, want %v", got, want)
	}
}

// TestASpareNameNeedsARecordThatAcceptsTheWorker: the record of the only spare name has more than workers report, and must stay.
func TestASpareNameNeedsARecordThatAcceptsTheWorker(t *testing.T) {
	withSpare := func(references map[string]string) func(*planInput) {
		return func(s *planInput) {
			s.desired.CanCreateRecords = true
			s.observed.Slurm.Records["n-2"] = Record{Name: "n-2", Dynamic: true, Future: true, OwnerUID: "set", OtherShape: true, ExceedsShape: true}
			s.observed.Slurm.References = references
		}
	}
	for name, tc := range map[string]struct {
		references map[string]string
		want       []string
	}{
		"a job names it":   {map[string]string{"n-2": "job 7"}, []string{"n-0"}},
		"nothing names it": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(2, 2, withMost(3), withBudget(2), withNewNames("n-%d"), withReserved("n-0"), withSpare(tc.references))
			if got := s.runPlanner().WithoutSuccessor; !slices.Equal(got, tc.want) {
				t.Errorf("WithoutSuccessor = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestTheTimeOfADrainIsBounded: any user can write the annotation, and clocks are set.
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
	forged := input(time.Time{}, noon.AddDate(-1, 0, 0), 24*time.Hour)
	forged.observed.Workers[0].DrainMark.Cause = ""
	if isDeleted(forged) {
		t.Error("a worker is deleted in the moment in which it is chosen")
	}
	if isDeleted(input(noon.AddDate(-1, 0, 0), noon.AddDate(-1, 0, 0), 24*time.Hour)) {
		t.Error("a worker is deleted for a time before its pod was created")
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
		"the reading is stale": {newInput(1, 1, pending, withStaleReading), true},
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

// TestAWorkerThatServesStaysBesideANamesake: the kubelet may be late to report slurmd, whose jobs would end with the pod.
func TestAWorkerThatServesStaysBesideANamesake(t *testing.T) {
	now := noon
	created := now.Add(-time.Hour)
	serving := Record{Name: "gpu-0", Dynamic: true, Busy: true, OwnerUID: "uid", Pod: "gpu-0", SlurmdStarted: created.Add(time.Minute)}
	with := func(change func(*Record)) *Record {
		r := serving
		change(&r)
		return &r
	}
	for _, tc := range []struct {
		name     string
		record   *Record
		kubeNode string
		stale    bool
		hasRun   bool // the other pod's slurmd has run
		want     bool // the pod is deleted
	}{
		{name: "it serves", record: &serving, kubeNode: "kube-0"},
		{name: "it serves, and is not known to be the owner yet", kubeNode: "kube-0",
			record: with(func(r *Record) { r.OwnerUID, r.Pod = "", "" })},
		{name: "another pod serves", kubeNode: "kube-0", record: with(func(r *Record) { r.Pod = "other-0" }), want: true},
		{name: "a slurmd that is older serves", kubeNode: "kube-0", want: true,
			record: with(func(r *Record) { r.SlurmdStarted = created.Add(-time.Hour) })},
		{name: "nothing serves", kubeNode: "kube-0", record: with(func(r *Record) { r.Future, r.Busy = true, false }), want: true},
		{name: "Slurm does not know it", kubeNode: "kube-0", want: true},
		{name: "nothing was read", kubeNode: "kube-0", stale: true},
		{name: "nothing was read, and the other pod may have jobs", kubeNode: "kube-0", stale: true, hasRun: true, want: true},
		{name: "it serves, by the last reading, and the other pod has run", record: &serving, kubeNode: "kube-0", stale: true, hasRun: true},
		{name: "it is not scheduled", stale: true, want: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := Worker{Pod: "gpu-0", UID: "u", SlurmName: "gpu-0", KubeNode: tc.kubeNode, Revision: "r", NeverStarted: true,
				Created: created, Namesake: "pod other-0", NamesakeHasRun: tc.hasRun}
			slurm := SlurmReading{Connected: true, Known: true, Fresh: !tc.stale, NodesReadAt: now, JobsReadAt: now,
				Records: map[string]Record{}}
			if tc.record != nil {
				slurm.Records["gpu-0"] = *tc.record
			}
			actions := New(DefaultConfig()).Plan(now, Desired{UID: "uid", Name: "gpu", Revision: "r", Replicas: 1,
				SlurmName: func(int) string { return "gpu-0" }}, Observation{Workers: []Worker{w}, Slurm: slurm})
			deleted := false
			for i := range actions.Steps {
				s := &actions.Steps[i]
				if s.Verb != DeletePod {
					continue
				}
				deleted = true
				if got := s.IsMetBy(&serving); got != (tc.kubeNode == "" || tc.stale) {
					t.Errorf("that slurmd of the pod has registered since keeps the pod: %t", !got)
				}
				if !s.IsMetBy(tc.record) {
					t.Error("what was read does not meet the precondition")
				}
			}
			if deleted != tc.want {
				t.Errorf("deleted: %t, want %t", deleted, tc.want)
			}
		})
	}
}

// TestAnUpdateGivesTheNameOfAFreeKubernetesNode: the Kubernetes nodes have the names of the workers, and a worker that waits may have only
// the free one, n-1. With another name, two workers would wait and the update would never end.
func TestAnUpdateGivesTheNameOfAFreeKubernetesNode(t *testing.T) {
	changes := []func(*planInput){withWorker(3, func(w *Worker) {
		*w = Worker{Pod: w.Pod, UID: w.UID, Slot: w.Slot, Revision: "new", Created: noon.Add(-time.Minute), NeverStarted: true,
			DrainMark: w.DrainMark}
	})}
	for ordinal, kubeNode := range []string{"n-3", "n-2", "n-0"} {
		changes = append(changes, withWorker(ordinal, func(w *Worker) {
			w.Revision, w.KubeNode, w.BlocksKubeNode = "old", kubeNode, true
		}))
	}
	changes = append(changes, func(s *planInput) { delete(s.observed.Slurm.Records, "n-3") }, withMost(4))
	expectSteps(t, newInput(4, 4, changes...), "annotate n-1 Update", "drain n-1")
}

// TestAnUpdateKeepsItsBudgetWhileNoWorkerWaitsForAName: a new worker is out of service, but it has its Kubernetes node.
func TestAnUpdateKeepsItsBudgetWhileNoWorkerWaitsForAName(t *testing.T) {
	blocking := func(s *planInput) {
		for i := 1; i < 4; i++ {
			s.observed.Workers[i].Revision, s.observed.Workers[i].BlocksKubeNode = "old", true
		}
	}
	for name, tc := range map[string]struct {
		first func(*planInput)
		want  []string
	}{
		"it starts":              {withWorker(0, func(w *Worker) { w.Ready, w.Running, w.NeverStarted = false, false, true }), nil},
		"its Slurm node is down": {withRecord(0, func(r *Record) { r.Down = true }), nil},
		"it waits for a Kubernetes node": {withWorker(0, func(w *Worker) {
			w.KubeNode, w.Ready, w.Running, w.NeverStarted = "", false, false, true
		}), []string{"n-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var drained []string
			for _, step := range newInput(4, 4, tc.first, blocking).runPlanner().Steps {
				if step.Verb == Drain {
					drained = append(drained, step.SlurmName)
				}
			}
			if !slices.Equal(drained, tc.want) {
				t.Errorf("drained %q, want %q", drained, tc.want)
			}
		})
	}
}
