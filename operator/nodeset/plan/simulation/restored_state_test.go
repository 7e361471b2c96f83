package simulation

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// restoreOlderState is slurmctld that comes back with a state from before its workers registered. Their
// jobs run on, and no list shows them.
func (w *simulation) restoreOlderState() {
	w.logf("slurmctld comes back with an older state")
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		// The operator knows the registration of others not yet.
		if p == nil || p.registeredAt.IsZero() || n.OwnerUID != w.desired.UID || w.chance(30) {
			continue
		}
		for id := range n.jobs {
			delete(w.jobs, id)
		}
		w.slurm[name] = &simRecord{Record: plan.Record{Name: name, Future: true, Dynamic: true, OwnerUID: w.desired.UID},
			jobs: map[uint32]bool{}, shape: n.shape}
		delete(w.setByAdmin, name)
		p.drainUndone, p.forgotten = true, true
	}
}

// recordRegistrations sets the pod condition of the workers that a reading shows registered.
func (w *simulation) recordRegistrations(observed *plan.Observation) {
	for i := range observed.Workers {
		worker := &observed.Workers[i]
		p := w.pods[worker.Pod]
		if p != nil && p.uid == worker.UID && !worker.HasRegistered() && observed.Slurm.ShowsRegistration(worker) {
			p.registeredAt = w.now
			p.version++
		}
	}
}

// isTimeoutOver reports whether the drain policy allows that the jobs of a worker end. A drain that was undone, or that
// slurmctld lost, counts until a reading shows it: the policy does not wait for a Slurm that does not answer, or whose list
// of nodes lacks this one.
func (w *simulation) isTimeoutOver(p *simPod) bool {
	timeout, mark := w.desired.DrainPolicy.Timeout, p.drainMark.Drained
	r, read := w.operator.nodes[p.name]
	unseen := !w.observe().Slurm.Fresh || !read || r.Drain
	if timeout > 0 && unseen && !mark.IsZero() && w.now.Sub(mark) >= timeout {
		return true
	}
	since, drained := w.drainSeen[p.name]
	if n := w.slurm[p.name]; n == nil || n.Future { // it cannot be drained
		since, drained = p.drainMark.Since, true
	}
	return timeout > 0 && drained && w.now.Sub(since) >= timeout
}

// isToRegisterAgain reports whether the agent of a worker follows a request to register again. It waits until nothing runs:
// slurmctld ends unknown jobs when a node registers.
func (w *simulation) isToRegisterAgain(p *simPod) bool {
	return !p.noAgent && p.drainMark.RegisterAgain.After(p.asked) && len(p.work) == 0 && !w.isOwnedByOther(p.name)
}

// isUnknownToSlurm reports whether Slurm does not know a worker that is ready.
func (w *simulation) isUnknownToSlurm(p *simPod) bool {
	n := w.slurm[p.name]
	return p.ready && (n == nil || n.Future)
}

// checkRegisteredAtRest checks that Slurm knows the workers that it had lost.
func (w *simulation) checkRegisteredAtRest() {
	for name, p := range w.pods {
		if w.broken == "" && w.isUnknownToSlurm(p) {
			w.failf("at rest Slurm does not know the worker %s", name)
		}
	}
}
