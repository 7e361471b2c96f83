package plan

import "fmt"

// HasFault reports whether the node is out of service because Slurm or a health check found a fault
// of its worker: a drain of slurmctld or slurmd, such as "Kill task failed". It ends with the worker.
func (r Record) HasFault() bool {
	return r.Fault != "" && !r.DownByOthers && !r.Future && (r.Drain || r.Down)
}

// settleFault ends a fault whose worker is gone. As for our own drains, readings must show that the node has
// no job and accepts none. If something names a record, the record becomes FUTURE. settleFault reports
// whether it added a step.
func (b *planRun) settleFault(r Record, wanted bool) bool {
	if !b.rules.HasFault(r) || r.Busy || b.slurm.Work[r.Name].Jobs > 0 ||
		!r.Rebooting && (!r.Drain || !b.slurm.isDrained(r.Name)) {
		return false
	}
	s := Step{Verb: DeleteRecord, SlurmName: r.Name, Precondition: PreconditionFaultDrained,
		Reason: fmt.Sprintf("the worker that Slurm drained (%s) is gone", r.Fault)}
	if wanted || !b.isDeletedWithPod(r) {
		s.Verb = MarkFuture
	}
	b.addStep(s)
	return true
}

// resumeReplaced returns a worker's node to service that Slurm took out of service because of an
// earlier worker of the same name. It reports whether the node is in that state.
func (b *planRun) resumeReplaced(w *Worker, r Record) bool {
	if !b.rules.HasFault(r) || !isOlderThan(r, w) {
		return false
	}
	if w.Ready {
		b.addStep(Step{Verb: Resume, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Precondition: PreconditionFault, FaultAt: r.FaultAt,
			Reason: fmt.Sprintf("Slurm drained the worker before it (%s)", r.Fault)})
	}
	return true
}

// clearPod removes the pod from the comment of a record that stays without one. Otherwise it would look like
// the record of a lost worker.
func (b *planRun) clearPod(r Record) {
	if r.Pod != "" && r.OutOfServiceByOthers() {
		b.addStep(Step{Verb: ClearPod, SlurmName: r.Name, Precondition: PreconditionHeld, Reason: "its pod is gone"})
	}
}
