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

// since is when the worker was chosen for its cause.
func (b *pass) since(w *Worker) time.Time {
	if w.Note.Cause != "" && !w.Note.Since.IsZero() {
		return w.Note.Since
	}
	return b.now
}

// note keeps on each pod what is to outlive the process, and what others read.
func (b *pass) note() {
	for _, w := range b.active {
		n := Note{Cause: b.cause[w.Pod], Protect: w.Note.Protect, Deadline: w.Note.Deadline}
		if n.Cause != "" {
			n.Since = b.since(w)
		}
		if b.slurm.Fresh {
			work := b.slurm.Work[w.SlurmName]
			n.Protect = b.slurm.Records[w.SlurmName].Busy || work.Jobs > 0
			n.Deadline = work.End.Truncate(time.Second)
		}
		if !n.same(w.Note) {
			b.add(Step{Verb: Notes, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Note: n, Reason: n.Cause})
		}
	}
}

func (n Note) same(m Note) bool {
	return n.Cause == m.Cause && n.Since.Equal(m.Since) && n.Protect == m.Protect && n.Deadline.Equal(m.Deadline)
}

// drainReason is why the worker's Slurm node should take no new jobs, empty if it
// should.
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

// registered returns the worker's record if a fresh reading has one.
func (b *pass) registered(w *Worker) (Record, bool) {
	record, ok := b.slurm.Records[w.SlurmName]
	return record, ok && b.slurm.Fresh && !record.Future
}

// undrain takes our own drains back where nothing asks for them any more, and puts
// workers into service whose node went down with the pod before.
func (b *pass) undrain() {
	for _, w := range b.active {
		record, ok := b.registered(w)
		if !ok || b.drainReason(w) != "" {
			continue
		}
		switch {
		case record.Drain && b.mayUndrain(record) && !record.Down:
			b.add(Step{Verb: Undrain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookUndrainable, Reason: "nothing asks for its drain any more"})
		case record.leftOver():
			b.add(Step{Verb: Unmark, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookLeftOver, Reason: "its reason is of a drain that is over"})
		case record.Down && record.Ours && w.Ready:
			b.add(Step{Verb: Resume, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookOurs, Reason: "its pod is Ready again"})
		}
	}
}

// drain drains the Slurm nodes of workers that are to go or are cordoned. A drain
// that is there is enough, whoever made it.
func (b *pass) drain() {
	for _, w := range b.active {
		reason := b.drainReason(w)
		if record, ok := b.registered(w); ok && reason != "" && !record.Drain {
			b.add(Step{Verb: Drain, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: LookUndrained, Reason: reason})
		}
	}
}

// remove deletes the workers that are to go and may.
func (b *pass) remove() {
	if b.slurm.Known || b.wish.Deleting && !b.slurm.Connected {
		for _, w := range b.finished {
			b.add(Step{Verb: Delete, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Reason: "its containers have ended"})
		}
	}
	left, grows := b.cfg.brake(b.now, len(b.active), b.seen.Unregistered)
	for _, w := range b.slurm.sorted(b.active) {
		if b.cause[w.Pod] == "" {
			continue
		}
		v := b.judge(b.now, b.wish, b.slurm, w, b.since(w))
		if v.ok && v.unregistered {
			if left--; left < 0 {
				v = blocked(Unregistered, "too many workers were deleted lately that did not register with Slurm")
				v.at = grows
			}
		}
		if v.ok {
			b.add(Step{Verb: Delete, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: v.look, Reason: v.why})
			continue
		}
		b.waitFor(w, v)
	}
}

func (b *pass) waitFor(w *Worker, v verdict) {
	work := b.slurm.Work[w.SlurmName]
	b.todo.Waits = append(b.todo.Waits, Wait{
		Pod: w.Pod, SlurmName: w.SlurmName, Cause: b.cause[w.Pod], Why: v.why, Block: v.block,
		Job: work.LastJob, Jobs: work.Jobs, Until: work.End,
	})
	b.lookAt(v.at)
	if t := b.wish.Policy.Timeout; t > 0 {
		b.lookAt(b.since(w).Add(t))
	}
}
