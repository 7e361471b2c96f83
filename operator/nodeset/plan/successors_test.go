package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// withReserved gives names to others, in slurm.conf.
func withReserved(names ...string) func(*planInput) {
	return func(s *planInput) {
		if s.desired.ReservedNames == nil {
			s.desired.ReservedNames = map[string]string{}
		}
		for _, name := range names {
			s.desired.ReservedNames[name] = "NodeSet cpu"
		}
	}
}

// withOwned gives names to others, in Slurm.
func withOwned(names ...string) func(*planInput) {
	return func(s *planInput) {
		for _, name := range names {
			s.observed.Slurm.Records[name] = Record{Name: name, Dynamic: true, OwnerUID: "other", OwnerName: "b/n"}
		}
	}
}

// withMost sets the maximum, without records of workers that do not exist.
func withMost(most int) func(*planInput) { return func(s *planInput) { s.desired.MaxWorkers = &most } }

func withBudget(unavailable int) func(*planInput) {
	return func(s *planInput) { s.desired.Update.MaxUnavailable = unavailable }
}

// withNewNames changes the workers to an old revision, and sets the format of new workers' names.
func withNewNames(format string) func(*planInput) {
	return func(s *planInput) {
		for i := range s.observed.Workers {
			s.observed.Workers[i].Revision = "old"
		}
		s.desired.SlurmName = func(i int) string { return fmt.Sprintf(format, i) }
	}
}

// withKubeNodeSlots changes all workers to scaling mode DaemonSet.
func withKubeNodeSlots(s *planInput) {
	for i := range s.observed.Workers {
		withKubeNodeSlot(i)(s)
	}
}

// withNamesOf gives each worker the name of another ordinal, in an old revision.
func withNamesOfOrdinals(ordinals ...int) func(*planInput) {
	return func(s *planInput) {
		for i := range s.observed.Workers {
			w := &s.observed.Workers[i]
			w.Revision, w.SlurmName, w.KubeNode = "old", fmt.Sprintf("n-%d", ordinals[i]), fmt.Sprintf("n-%d", ordinals[i])
		}
	}
}

// playPlan applies the steps of a plan at once. Workers are created in service.
func (s *planInput) playPlan(actions Actions) {
	slurm := &s.observed.Slurm
	for _, step := range actions.Steps {
		r := slurm.Records[step.SlurmName]
		switch step.Verb {
		case Annotate:
			for i := range s.observed.Workers {
				if w := &s.observed.Workers[i]; w.Pod == step.Pod {
					w.DrainMark = step.DrainMark
				}
			}
		case Drain:
			r.Drain, r.OurReason = true, true
			slurm.Records[step.SlurmName], slurm.DrainedSince[step.SlurmName] = r, noon.Add(-time.Second)
		case Undrain:
			r.Drain, r.OurReason = false, false
			slurm.Records[step.SlurmName] = r
			delete(slurm.DrainedSince, step.SlurmName)
		case DeletePod:
			s.observed.Workers = slices.DeleteFunc(s.observed.Workers, func(w Worker) bool { return w.Pod == step.Pod })
			delete(slurm.Records, step.SlurmName)
			delete(slurm.DrainedSince, step.SlurmName)
		case CreatePod:
			w := newInput(1, 1).observed.Workers[0]
			w.Pod = fmt.Sprintf("new-%d%s", step.Slot.Ordinal, step.Slot.KubeNode)
			w.UID, w.Slot, w.SlurmName, w.Revision = w.Pod, step.Slot, step.SlurmName, step.Revision
			if w.KubeNode = step.Slot.KubeNode; w.KubeNode == "" {
				w.KubeNode = "k-of-" + w.Pod
			}
			s.observed.Workers = append(s.observed.Workers, w)
			slurm.Records[w.SlurmName] = Record{Name: w.SlurmName, Dynamic: true, OwnerUID: "set"}
		}
	}
}

// playUpdate plans until nothing changes. It returns the last plan and the names of the workers.
func (s *planInput) playUpdate() (Actions, string) {
	var actions Actions
	for range 60 {
		actions = s.runPlanner()
		s.playPlan(actions)
	}
	var names []string
	for _, w := range s.observed.Workers {
		names = append(names, w.SlurmName)
	}
	slices.Sort(names)
	return actions, strings.Join(names, " ")
}

// longNames returns names of 63 characters, sorted.
func longNames(count int) string {
	var out []string
	for i := range count {
		out = append(out, fmt.Sprintf("%s%d", strings.Repeat("x", 62), i))
	}
	return strings.Join(out, " ")
}

// TestAnUpdateLeavesWorkersWithoutASuccessor: it would only remove them.
func TestAnUpdateLeavesWorkersWithoutASuccessor(t *testing.T) {
	noNames := func(s *planInput) { s.desired.SlurmNameOn = func(string) string { return "" } }
	old := withNewNames("n-%d")
	kubeNodeNames := func(s *planInput) {
		s.desired.SlurmNameOn = func(kubeNode string) string { return strings.Replace(kubeNode, "k-n-", "m-", 1) }
	}
	newKubeNodeNames := func(first, second string) func(*planInput) {
		return func(s *planInput) {
			names := map[string]string{"k-n-0": first, "k-n-1": second}
			s.desired.SlurmNameOn = func(kubeNode string) string { return names[kubeNode] }
		}
	}
	for name, tc := range map[string]struct {
		set  *planInput
		want string
		stay int
	}{
		"others have all names of ordinals, in slurm.conf": {newInput(3, 3, withMost(3), withBudget(3), withKubeNodeSlots, noNames,
			withNewNames("x-%d"), withReserved("x-0", "x-1", "x-2")), "n-0 n-1 n-2", 3},
		"others have all names of ordinals, in Slurm": {newInput(3, 3, withMost(3), withBudget(3), withKubeNodeSlots, noNames,
			withNewNames("x-%d"), withOwned("x-0", "x-1", "x-2")), "n-0 n-1 n-2", 3},
		"others have all names of ordinals but one": {newInput(3, 3, withMost(3), withBudget(3), withKubeNodeSlots, noNames,
			withNewNames("x-%d"), withReserved("x-0"), withOwned("x-2")), "n-0 n-1 x-1", 2},
		"the names of the Kubernetes nodes are those of the ordinals": {newInput(3, 3, withMost(3), withBudget(3), withKubeNodeSlots,
			old), "n-0 n-1 n-2", 0},
		"others have the names of Kubernetes nodes, in slurm.conf": {newInput(0, 3, withBudget(3), withKubeNodes(3), kubeNodeNames,
			withReserved("m-0", "m-1")), "m-2 n-0 n-1", 2},
		"others have the names of Kubernetes nodes, in Slurm": {newInput(0, 3, withBudget(3), withKubeNodes(3), kubeNodeNames,
			withOwned("m-0", "m-1", "m-2")), "n-0 n-1 n-2", 3},
		"the worker of another mode that has the name gets an invalid one": {newInput(0, 2, withBudget(2), withKubeNodes(2), old,
			withKubeNodeSlot(0), newKubeNodeNames("n-1", "")), "n-0 n-1", 2},
		"the worker of another mode that has the name gets one of others": {newInput(0, 2, withBudget(2), withKubeNodes(2), old,
			withKubeNodeSlot(0), newKubeNodeNames("n-1", "m-1"), withReserved("m-1")), "n-0 n-1", 2},
		"a rename to names that others have in Slurm": {newInput(3, 3, withMost(3), withBudget(3), withNewNames("x-%d"),
			withOwned("x-0", "x-1", "x-2")), "n-0 n-1 n-2", 3},
		"a rename to names of which others have one": {newInput(3, 3, withMost(3), withBudget(3), withNewNames("x-%d"),
			withReserved("x-1")), "n-1 x-0 x-2", 1},
		"a rename where one more name is free": {newInput(3, 3, withMost(4), withBudget(3), withNewNames("x-%d"),
			withReserved("x-1")), "x-0 x-2 x-3", 0},
		"a rename where a slurmd without a pod has a name": {newInput(2, 2, withMost(2), withBudget(2), withNewNames("x-%d"),
			withNode("x-0", func(r *Record) { r.Busy = true })), "n-0 x-1", 0},
		"others have the names of workers, and one name is free": {newInput(4, 4, withMost(5), withBudget(4), old,
			withReserved("n-0", "n-1", "n-2", "n-3")), "n-0 n-1 n-2 n-4", 3},
		"others have the name of a worker that is gone": {newInput(4, 3, withMost(5), withBudget(4), old,
			withReserved("n-0", "n-1", "n-2", "n-3")), "n-0 n-1 n-2 n-4", 3},
		"without a maximum there are names": {newInput(2, 2, withoutMaximum, withBudget(2), old, withReserved("n-0", "n-1")),
			"n-2 n-3", 0},
		"a circle of which others have a name": {newInput(3, 3, withMost(3), withNamesOfOrdinals(1, 2, 0), withReserved("n-2")),
			"n-0 n-1 n-2", 1},
		"a missing worker needs a name whose worker is outdated": {newInput(2, 1, withMost(2), withNewNames("n-%d"), func(s *planInput) {
			s.observed.Workers[0].Slot.Ordinal = 1
		}), "n-0 n-1", 0},
		"a rename to names of which some are too long": {newInput(12, 12, withoutMaximum, withBudget(12),
			withNewNames(strings.Repeat("x", 62)+"%d")), "n-10 n-11 " + longNames(10), 2},
		"in place": {newInput(3, 3, withMost(3), old), "n-0 n-1 n-2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			actions, names := tc.set.playUpdate()
			if len(actions.WithoutSuccessor) != tc.stay || (tc.stay > 0) != (actions.SuccessorProblem != "") {
				t.Errorf("%v stay, because %q, want %d", actions.WithoutSuccessor, actions.SuccessorProblem, tc.stay)
			}
			if names != tc.want {
				t.Errorf("workers are %s, want %s", names, tc.want)
			}
		})
	}
}

// TestAnUpdateInPlaceUsesTheWholeBudget: each worker leaves its name to its successor.
func TestAnUpdateInPlaceUsesTheWholeBudget(t *testing.T) {
	for _, change := range []func(*planInput){withNewNames("n-%d"), withNewNames("x-%d")} {
		actions := newInput(4, 4, withMost(4), withBudget(3), change).runPlanner()
		if drained := len(actions.Steps) / 2; drained != 3 {
			t.Errorf("%d workers are drained: %v", drained, formatSteps(actions))
		}
	}
}

// randomUpdate is an update with names of others, another mode or other names, and few names to spare.
func randomUpdate(seed uint64) *planInput {
	rnd := rand.New(rand.NewPCG(seed, 2))
	replicas := 1 + rnd.IntN(5)
	s := newInput(replicas, replicas, withBudget(1+rnd.IntN(replicas)), withNewNames([]string{"n-%d", "x-%d"}[rnd.IntN(2)]))
	if shift, name := rnd.IntN(3), s.desired.SlurmName; shift > 0 { // the new name of one is the old name of another
		s.desired.SlurmName = func(i int) string { return name(i + shift) }
	}
	switch rnd.IntN(3) {
	case 0:
		withoutMaximum(s)
	default:
		withMost(replicas + rnd.IntN(3))(s)
	}
	switch rnd.IntN(4) {
	case 0:
		withKubeNodeSlots(s)
	case 1:
		withKubeNodes(replicas)(s)
		s.desired.SlurmNameOn = func(kubeNode string) string { return strings.Replace(kubeNode, "k-n-", "x-", 1) }
	}
	for i := range replicas + 2 {
		switch name := fmt.Sprintf("x-%d", i); rnd.IntN(4) {
		case 0:
			withReserved(name)(s)
		case 1:
			withOwned(name)(s)
		}
		if rnd.IntN(4) == 0 {
			withReserved(fmt.Sprintf("n-%d", i))(s)
		}
	}
	return s
}

// TestRandomUpdatesLoseNoWorker: however few names are free, the workers of old and new names are as many as before.
func TestRandomUpdatesLoseNoWorker(t *testing.T) {
	for seed := range uint64(1000) {
		s := randomUpdate(seed)
		replicas := len(s.observed.Workers)
		actions, names := s.playUpdate()
		if got := len(s.observed.Workers); got != replicas {
			t.Errorf("seed %d: %d workers are left of %d: %s", seed, got, replicas, names)
		}
		if len(actions.Steps) > 0 || actions.Outdated > 0 && len(actions.WithoutSuccessor) == 0 {
			t.Errorf("seed %d: the update does not end: %d outdated, %v", seed, actions.Outdated, formatSteps(actions))
		}
	}
}

// TestWorkersWithNamesOfEachOtherAreReplaced: one of them leaves first, although its name is not enough for its successor.
func TestWorkersWithNamesOfEachOtherAreReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		set  *planInput
		want string
	}{
		"two":                       {newInput(2, 2, withMost(2), withNamesOfOrdinals(1, 0)), "n-0 n-1"},
		"two, and one name is free": {newInput(2, 2, withMost(3), withNamesOfOrdinals(1, 0)), "n-0 n-2"},
		"two pairs":                 {newInput(4, 4, withMost(4), withNamesOfOrdinals(1, 0, 3, 2)), "n-0 n-1 n-2 n-3"},
		"a circle of three":         {newInput(3, 3, withMost(3), withNamesOfOrdinals(1, 2, 0)), "n-0 n-1 n-2"},
	} {
		t.Run(name, func(t *testing.T) {
			if actions, names := tc.set.playUpdate(); names != tc.want || actions.Outdated > 0 || len(actions.Steps) > 0 {
				t.Errorf("workers are %s, want %s; %d are outdated, and the last steps are %v", names, tc.want, actions.Outdated, formatSteps(actions))
			}
		})
	}
}

// TestRandomNamesOfOtherOrdinalsAreReplaced: an update ends, for any exchange of the workers' names. At most one worker more than
// maxUnavailable is out of service.
func TestRandomNamesOfOtherOrdinalsAreReplaced(t *testing.T) {
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		replicas := 2 + rnd.IntN(6)
		budget := 1 + rnd.IntN(2)
		s := newInput(replicas, replicas, withMost(replicas+rnd.IntN(2)), withBudget(budget), withNamesOfOrdinals(rnd.Perm(replicas)...))
		lost := rnd.IntN(4) == 0
		if lost {
			s.observed.Workers = s.observed.Workers[1:]
		}
		least := replicas
		var actions Actions
		for range 60 {
			actions = s.runPlanner()
			s.playPlan(actions)
			least = min(least, len(s.observed.Workers))
		}
		if len(s.observed.Workers) != replicas || actions.Outdated > 0 {
			t.Errorf("seed %d: %d of %d workers, %d outdated", seed, len(s.observed.Workers), replicas, actions.Outdated)
		}
		if least < replicas-budget-1 {
			t.Errorf("seed %d: only %d of %d workers are there, with maxUnavailable %d", seed, least, replicas, budget)
		}
	}
}
