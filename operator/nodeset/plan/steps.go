package plan

import (
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

// chosenSince returns when the worker was chosen for its cause.
func (b *pass) since(w *Worker) time.Time {
	if w.Note.Cause != "" && !w.Note.Since.IsZero() {
		return w.Note.Since
	}
	return b.now
}

// annotatePods records on each pod what must survive a restart of the process and what others read.
func (b *pass) note() {
	for _, w := range b.active {
		n := Note{Cause: b.cause[w.Pod], Protect: b.protects(b.slurm, w), Deadline: w.Note.Deadline}
		if n.Cause != "" {
			n.Since = b.since(w)
		}
		if _, ok := b.registered(w); ok {
			n.Deadline = b.slurm.Work[w.SlurmName].End.Truncate(time.Second)
		}
		if !n.same(w.Note) {
			b.add(Step{Verb: Notes, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Note: n, Reason: n.Cause})
		}
	}
}

// needsProtection reports whether the worker must be protected from eviction. Slurm may give any
// worker a job at any moment. Only a cordoned worker loses its protection, on a reading that shows
// it drained and without work, so that whoever empties its Kubernetes node can continue. A reading
// that is not fresh, that predates the worker, or that lacks its Slurm node changes nothing.
func protects(s *Slurm, w *Worker) bool {
	record, known := s.Records[w.SlurmName]
	switch {
	case w.Cordon == "":
		return true
	case !s.Fresh, !known, record.Future, s.NodesReadAt.Before(w.Created.Add(time.Second)): // Kubernetes' times are whole seconds
		return w.Note.Protect
	}
	return record.Busy || s.Work[w.SlurmName].Jobs > 0 || !record.Drain || !s.drained(w.SlurmName)
}

func (n Note) same(m Note) bool {
	return n.Cause == m.Cause && n.Since.Equal(m.Since) && n.Protect == m.Protect && n.Deadline.Equal(m.Deadline)
}

// drainReason returns why the worker's Slurm node should accept no new jobs, or empty if it should
// accept them.
func (b *pass) drainReason(w *Worker) string {
	switch b.cause[w.Pod] {
	case v1beta1.CauseScaleIn:
		return v1beta1.DrainReasonPrefix + v1beta1.DrainForScaleIn
	case v1beta1.CauseUpdate:
		return v1beta1.DrainReasonPrefix + "update"
	case v1beta1.CauseDeletion:
		return v1beta1.DrainReasonPrefix + "deletion of the NodeSet"
	}
	if w.Cordon != "" {
		return v1beta1.DrainReasonPrefix + w.Cordon
	}
	return ""
}

// registeredRecord returns the worker's record if a fresh reading has one that is not FUTURE.
func (b *pass) registered(w *Worker) (Record, bool) {
	record, ok := b.slurm.Records[w.SlurmName]
	return record, ok && b.slurm.Fresh && !record.Future
}

// undrainNodes undoes our own drains that are no longer needed, and resumes workers whose node went
// down with an earlier pod.
func (b *pass) undrain() {
	for _, w := range b.active {
		record, ok := b.registered(w)
		if !ok || b.drainReason(w) != "" || b.foreign(record) {
			continue
		}
		switch {
		case record.Drain && !record.Down:
			b.add(Step{Verb: Undrain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookUndrainable, Reason: "its drain is no longer needed"})
		case record.leftOver():
			b.add(Step{Verb: Unmark, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookLeftOver, Reason: "its reason belongs to a drain that is over"})
		case record.Down && record.Ours && w.Ready:
			b.add(Step{Verb: Resume, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookOurs, Reason: "its pod is Ready again"})
		}
	}
}

// drainNodes drains the Slurm nodes of workers that are to be removed or are cordoned. An existing
// drain suffices, whoever made it.
func (b *pass) drain() {
	for _, w := range b.active {
		reason := b.drainReason(w)
		record, ok := b.registered(w)
		switch {
		case !ok || reason == "" || record.Drain:
		case b.foreign(record):
			b.closeHeld(Step{Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName})
		default:
			b.add(Step{Verb: Drain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookUndrained, Reason: reason})
		}
	}
}

// addDrain adds DRAIN to a Slurm node that somebody else set DOWN or FAIL. With ReturnToService=2
// (slurm.conf(5)) the next registration of slurmd would return it to service.
func (b *pass) closeHeld(s Step) {
	s.Verb, s.Look, s.Reason = Close, LookHeld, "it stays out of service until whoever set it DOWN or FAIL resumes it"
	b.add(s)
}

// deletePods deletes the workers that are to be removed and may be deleted now.
func (b *pass) remove() {
	if b.slurm.Known || b.desired.Deleting && !b.slurm.Connected {
		for _, w := range b.finished {
			b.add(Step{Verb: Delete, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Reason: "its containers have ended"})
		}
	}
	left, grows := b.cfg.brake(b.now, len(b.active), b.observed.Unregistered)
	for _, w := range b.slurm.sorted(b.active) {
		v, asked := b.verdictOn(w)
		if v.ok && v.unregistered {
			if left--; left < 0 {
				v = blocked(Unregistered, "too many workers that did not register with Slurm were deleted recently")
				v.at = grows
			}
		}
		switch {
		case v.ok:
			b.add(Step{Verb: Delete, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: v.look, Reason: v.why})
		case asked:
			b.waitFor(w, v)
		default:
			b.lookAt(v.at)
		}
	}
}

// verdictOn returns whether the worker may be deleted now, and whether it was chosen for removal. A
// worker that was not chosen is replaced only if its slurmd never took over its FUTURE record.
func (b *pass) verdictOn(w *Worker) (v verdict, asked bool) {
	if b.cause[w.Pod] != "" {
		return b.judge(b.now, b.desired, b.slurm, w, b.since(w)), true
	}
	record, known := b.slurm.Records[w.SlurmName]
	if !b.slurm.Fresh || known && !record.Future || !w.Running {
		return verdict{}, false
	}
	if !known {
		if !b.now.Before(w.RunningSince.Add(b.cfg.RegisterWithin)) {
			b.actions.Lost = append(b.actions.Lost, w.Pod)
		}
		return verdict{}, false
	}
	if v = b.cfg.judgeUnregistered(b.now, b.slurm, w); v.look != LookFuture {
		v.ok = false
	}
	return v, false
}

func (b *pass) waitFor(w *Worker, v verdict) {
	work := b.slurm.Work[w.SlurmName]
	b.actions.Waits = append(b.actions.Waits, Wait{
		Pod: w.Pod, SlurmName: w.SlurmName, Cause: b.cause[w.Pod], Why: v.why, Block: v.block,
		Job: work.LastJob, Jobs: work.Jobs, Until: work.End,
	})
	b.lookAt(v.at)
	if t := b.desired.Policy.Timeout; t > 0 {
		b.lookAt(b.since(w).Add(t))
	}
}
