package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// lostPodEvent removes a pod from Kubernetes that still runs, as "kubectl delete pod --force" does while the
// kubelet is away. Or it plays an event of a pod that is already lost.
func (w *simulation) lostPodEvent() {
	switch w.rand.IntN(9) {
	case 0:
		w.forcePod()
	case 8:
		if w.chance(20) {
			w.restoreOlderState()
		}
	case 1:
		for _, name := range slices.Sorted(maps.Keys(w.lost)) {
			w.endLostPod(name)
			return
		}
	case 2, 3:
		w.startLostJob()
	case 4:
		w.reconcile(true)
	case 5:
		w.kubelet()
	case 6:
		w.readNodes()
	case 7:
		w.readNodes()
		w.readJobs()
	}
}

// forcePod makes Kubernetes forget a running pod that the operator has seen. After a loss of slurmctld's state
// nothing shows such a slurmd: its Slurm node must exist, or the operator must have seen the loss.
func (w *simulation) forcePod() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		_, seen := w.operator.pods[name]
		p, n := w.pods[name], w.slurm[name]
		shown := n != nil && !n.Future || p.lossSeen
		if seen && p.registered && shown && !w.isOwnedByOther(name) && w.lost[name] == nil {
			w.logf("lost and runs on: %s", name)
			w.lost[name] = p
			delete(w.pods, name)
			return
		}
	}
}

// endLostPod is a kubelet that comes back and ends a pod that it should not have.
func (w *simulation) endLostPod(name string) {
	w.logf("lost pod ends: %s", name)
	delete(w.lost, name)
	if n := w.slurm[name]; n != nil && w.pods[name] == nil {
		for id := range n.jobs {
			w.endJob(id)
		}
		n.up = false
	}
}

// startLostJob starts a job on the slurmd of a lost pod, unless a worker has its name by now.
func (w *simulation) startLostJob() {
	for _, name := range slices.Sorted(maps.Keys(w.lost)) {
		if w.isOpenForJobs(name) && w.pods[name] == nil {
			w.logf("in a lost pod of %s:", name)
			w.startJob(w.slurm[name], w.lost[name])
			return
		}
	}
}

// isOpenForJobs reports whether Slurm may start a job on a node.
func (w *simulation) isOpenForJobs(name string) bool {
	n := w.slurm[name]
	return n != nil && n.up && !n.Future && !n.Down && !n.Drain && !n.failing
}

// checkNameFree holds the creation of a worker to the slurmd that still has its name.
func (w *simulation) checkNameFree(name string) {
	p := w.lost[name]
	switch {
	case p == nil, p.forgotten: // slurmctld does not end jobs that it does not know
	case len(p.work) > 0:
		w.failf("a second slurmd of %s is made, which ends %d jobs of the first", name, len(p.work))
	case w.isOpenForJobs(name):
		w.failf("a second slurmd of %s is made, and the first may get a job", name)
	}
}

// goneSince returns when the operator first missed pods.
func (w *simulation) goneSince(workers []plan.Worker) map[string]time.Time {
	read := w.operator.nodesAt
	if w.operator.jobsAt.Before(read) {
		read = w.operator.jobsAt
	}
	gone := w.operator.expectations.MissWorkers(workers, w.now, read)
	if w.faults.forgetGone {
		return nil
	}
	return gone
}

// calmLost has half of the lost pods end. The others stay, and get no more jobs.
func (w *simulation) calmLost() {
	for _, name := range slices.Sorted(maps.Keys(w.lost)) {
		if w.chance(50) {
			w.endLostPod(name)
		}
	}
}

// TestBrokenRulesOfTakenNamesAreNoticed breaks the rules against a second slurmd with one name.
func TestBrokenRulesOfTakenNamesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, tc := range map[string]struct {
		isTaken func(s *plan.SlurmReading, name string) bool
		faults  faults
	}{
		"the claims of a lost worker are deleted": {
			isTaken: func(*plan.SlurmReading, string) bool { return false }, faults: faults{skipNameCheck: true}},
		"a busy node without a pod is free": {
			isTaken: func(s *plan.SlurmReading, name string) bool {
				r := s.Records[name]
				return intact.IsTaken(s, name) && !r.Busy
			}, faults: faults{skipNameCheck: true}},
		"an idle node that responds is free": {
			isTaken: func(s *plan.SlurmReading, name string) bool {
				return s.Records[name].Busy || s.Work[name].Jobs > 0
			}, faults: faults{skipNameCheck: true}},
		"the list of jobs is not looked at": {
			isTaken: func(s *plan.SlurmReading, name string) bool {
				t := *s
				t.Work, t.JobsReadAt = nil, s.DrainedSince[name]
				return intact.IsTaken(&t, name)
			}, faults: faults{skipNameCheck: true}},
		"an odd reading is believed":                      {isTaken: intact.IsTaken, faults: faults{skipNameCheck: true}},
		"a reading from before the loss of a pod decides": {isTaken: intact.IsTaken, faults: faults{forgetGone: true}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := intact
			rules.IsTaken = tc.isTaken
			expectBrokenPromise(t, rules, withFocus(focusLost), func(w *simulation) { w.faults = tc.faults })
		})
	}
}
