package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func sortedByName(workers []Worker) []*Worker {
	out := make([]*Worker, len(workers))
	for i := range workers {
		out[i] = &workers[i]
	}
	slices.SortFunc(out, func(a, b *Worker) int { return strings.Compare(a.Pod, b.Pod) })
	return out
}

// chosenSince returns when the worker was chosen for its cause. A time in the future is now: a clock was ahead.
func (b *planRun) chosenSince(w *Worker) time.Time {
	if w.DrainMark.Cause != "" && !w.DrainMark.Since.IsZero() {
		return earlier(w.DrainMark.Since, b.now)
	}
	return b.now
}

// annotatePods records on each pod the state that must survive a restart of the process, and the state that others read.
func (b *planRun) annotatePods() {
	for _, w := range b.active {
		n := DrainMark{Cause: b.causes[w.Pod], Protect: b.rules.NeedsProtection(b.slurm, w),
			Deadline: w.DrainMark.Deadline, RegisterAgain: b.registrationRequest(w)}
		if n.Cause != "" {
			n.Since = b.chosenSince(w)
		}
		if n.Cause != "" && b.desired.DrainPolicy.Timeout > 0 {
			n.Drained = b.drainedSince(w)
		}
		if _, ok := b.registeredRecord(w); ok {
			n.Deadline = b.slurm.Work[w.SlurmName].End.Truncate(time.Second)
		}
		if !n.equals(w.DrainMark) {
			b.addStep(Step{Verb: Annotate, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, DrainMark: n,
				Reason: n.Cause})
		}
	}
}

// needsProtection reports whether the worker must be protected from eviction. Slurm may give any worker a job at any
// moment. Only a cordoned worker loses its protection, on a reading that shows it drained and without work, so that a
// drain of its Kubernetes node can continue. A reading that is not fresh, that predates the worker, or that lacks its
// Slurm node changes nothing.
func needsProtection(s *SlurmReading, w *Worker) bool {
	record, known := s.Records[w.SlurmName]
	switch {
	case w.CordonReason == "":
		return true
	case !s.Fresh, !known, record.Future,
		s.NodesReadAt.Before(w.Created.Add(time.Second)): // Kubernetes' times are whole seconds
		return w.DrainMark.Protect
	}
	return record.Busy || s.Work[w.SlurmName].Jobs > 0 || !record.Drain || !s.isDrained(w.SlurmName)
}

func (n DrainMark) equals(m DrainMark) bool {
	return n.Cause == m.Cause && n.Since.Equal(m.Since) && n.Drained.Equal(m.Drained) &&
		n.RegisterAgain.Equal(m.RegisterAgain) && n.Protect == m.Protect && n.Deadline.Equal(m.Deadline)
}

// drainReason returns why the worker's Slurm node should accept no new jobs, or empty if it should
// accept them.
func (b *planRun) drainReason(w *Worker) string {
	switch b.causes[w.Pod] {
	case v1beta1.DrainCauseScaleIn:
		return v1beta1.DrainReasonPrefix + v1beta1.DrainReasonScaleIn
	case v1beta1.DrainCauseUpdate:
		return v1beta1.DrainReasonPrefix + "update"
	case v1beta1.DrainCauseDeletion:
		return v1beta1.DrainReasonPrefix + "deletion of the NodeSet"
	}
	if w.CordonReason != "" {
		return v1beta1.DrainReasonPrefix + w.CordonReason
	}
	return ""
}

// registeredRecord returns the worker's record if a fresh reading has one that is not FUTURE. A record with a foreign
// comment does not belong to a worker without a Kubernetes node, whose slurmd never ran.
func (b *planRun) registeredRecord(w *Worker) (Record, bool) {
	record, ok := b.slurm.Records[w.SlurmName]
	return record, ok && b.slurm.Fresh && !record.Future && !(record.ForeignComment && w.KubeNode == "")
}

// undrainNodes undoes our own drains that are no longer needed, and resumes workers whose node went
// down with an earlier pod.
func (b *planRun) undrainNodes() {
	for _, w := range b.active {
		record, ok := b.registeredRecord(w)
		if !ok || b.drainReason(w) != "" {
			continue
		}
		switch {
		case b.resumeReplaced(w, record), b.rules.OutOfServiceByOthers(record):
		case record.Drain && !record.Down:
			b.addStep(Step{Verb: Undrain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Precondition: PreconditionUndrainable, Reason: "its drain is no longer needed"})
		case record.hasLeftoverReason():
			b.addStep(Step{Verb: ClearReason, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Precondition: PreconditionLeftoverReason, Reason: "its reason belongs to a drain that is over"})
		case record.Down && record.OurReason && w.Ready:
			b.addStep(Step{Verb: Resume, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Precondition: PreconditionOurReason, Reason: "its pod is Ready again"})
		}
	}
}

// drainNodes drains the Slurm nodes of workers that are cordoned or will be removed. An existing drain by anyone suffices.
func (b *planRun) drainNodes() {
	for _, w := range b.active {
		reason := b.drainReason(w)
		record, ok := b.registeredRecord(w)
		switch {
		case !ok || reason == "" || record.Drain:
		case b.rules.OutOfServiceByOthers(record):
			b.addDrain(Step{Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName})
		default:
			b.addStep(Step{Verb: Drain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Precondition: PreconditionUndrained, Reason: reason})
		}
	}
}

// addDrain adds DRAIN to a Slurm node that others set DOWN or FAIL. With ReturnToService=2 (slurm.conf(5)) the next
// registration of slurmd would return it to service.
func (b *planRun) addDrain(s Step) {
	s.Verb, s.Precondition, s.Reason = AddDrain, PreconditionDownByOthers,
		"it stays out of service until whoever set it DOWN or FAIL resumes it"
	b.addStep(s)
}

// isStranded reports whether a worker can never be scheduled and must be created again. Nothing of it runs.
func (b *planRun) isStranded(w *Worker) bool {
	return w.PinnedToMissing && w.KubeNode == "" && !b.desired.Deleting && !b.desired.Frozen
}

// deletePods deletes the workers to remove that may be deleted now.
func (b *planRun) deletePods() {
	if b.slurm.Known || b.desired.Deleting && !b.slurm.Connected {
		for _, w := range b.finished {
			b.addStep(Step{Verb: DeletePod, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Reason: "its containers have ended"})
		}
	}
	b.actions.Displaced = len(b.displaced) > 0
	for _, w := range b.displaced { // its replacement is created once it is gone
		precondition := NoPrecondition
		if w.KubeNode != "" && b.slurm.Fresh && b.rules.OwnedByOther(b.slurm, w.SlurmName) == "" { // its kubelet may have started slurmd since
			precondition = PreconditionNotServed
		}
		b.addStep(Step{Verb: DeletePod, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Precondition: precondition, PodScheduled: w.scheduledAt(),
			Reason: "its Slurm node belongs to " + cmp.Or(b.slurm.OwnedByOthers[w.SlurmName], w.Namesake) + ", and its slurmd has not run yet"})
	}
	for _, w := range b.exposed {
		reason := "it is not scheduled, and does not avoid Kubernetes node " + w.ExposedTo + ", whose name others have"
		if b.isStranded(w) {
			reason = "it is not scheduled, and is pinned to Kubernetes node " + w.PinnedTo + ", which is gone"
		}
		b.addStep(Step{Verb: DeletePod, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Reason: reason})
	}
	left, grows := b.rules.Config.remainingUnregisteredDeletions(b.now, len(b.active), b.observed.UnregisteredDeletions)
	for _, w := range b.slurm.sorted(b.active) {
		v, asked := b.verdictOn(w)
		if !v.Allowed && b.isLost(w) {
			b.reportLost(w)
		}
		if v.Allowed && v.Unregistered {
			if left--; left < 0 {
				v = blockDeletion(BlockedByRegistration,
					"too many workers that did not register with Slurm were deleted recently")
				v.RecheckAt = grows
			}
		}
		switch {
		case v.Allowed:
			b.addStep(Step{Verb: DeletePod, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				Precondition: v.Precondition, Reason: v.Message})
		case asked:
			b.addWait(w, v)
		default:
			b.requeueAt(v.RecheckAt)
		}
	}
}

// verdictOn returns whether the worker may be deleted now, and whether it was chosen for removal. A
// worker that was not chosen is replaced only if its slurmd never took over its FUTURE record.
func (b *planRun) verdictOn(w *Worker) (v Verdict, asked bool) {
	if b.causes[w.Pod] != "" {
		return b.rules.JudgeDeletion(b.now, b.desired, b.slurm, w, b.timeoutSince(w)), true
	}
	record, known := b.slurm.Records[w.SlurmName]
	if !b.slurm.Fresh || known && !record.Future || !w.Running {
		return Verdict{}, false
	}
	if b.isLost(w) {
		return Verdict{}, false
	}
	if !known {
		if !b.now.Before(w.slurmdSince().Add(b.rules.Config.RegisterWithin)) {
			b.actions.UnknownToSlurm = append(b.actions.UnknownToSlurm, w.Pod)
		}
		return Verdict{}, false
	}
	if v = b.rules.Config.judgeUnregistered(b.now, b.slurm, w); v.Precondition != PreconditionFuture {
		v.Allowed = false
	}
	return v, false
}

func (b *planRun) addWait(w *Worker, v Verdict) {
	work := b.slurm.Work[w.SlurmName]
	b.actions.Waits = append(b.actions.Waits, Wait{
		Pod: w.Pod, SlurmName: w.SlurmName, Cause: b.causes[w.Pod], Message: v.Message, BlockReason: v.BlockReason,
		Job: work.LastJob, Jobs: work.Jobs, Until: work.End,
	})
	b.requeueAt(v.RecheckAt)
	if t, since := b.desired.DrainPolicy.Timeout, b.timeoutSince(w); t > 0 && !since.IsZero() {
		b.requeueAt(since.Add(t))
	}
}
