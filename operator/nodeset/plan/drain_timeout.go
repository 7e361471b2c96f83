package plan

import "time"

// drainedSince returns since when the Slurm node of a worker that was chosen accepts no new jobs, zero
// if that is not known. A reading that is not fresh, or lacks the node, changes nothing.
func (b *planRun) drainedSince(w *Worker) time.Time {
	record, ok := b.registeredRecord(w)
	switch since := b.boundDrained(w); {
	case !ok || record.Drain && !since.IsZero():
		return since
	case record.Drain:
		return b.now
	}
	return time.Time{}
}

// boundDrained limits the time in a worker's annotation, which any user can write. It is not before the worker was chosen, its
// pod was created and the operator drained its Slurm node, according to Slurm. A time in the future becomes now: a clock was
// ahead.
func (b *planRun) boundDrained(w *Worker) time.Time {
	if w.DrainMark.Drained.IsZero() {
		return time.Time{}
	}
	return earlier(later(later(w.DrainMark.Drained, b.boundChosen(w)), b.slurm.Records[w.SlurmName].OurReasonAt), b.now)
}

// boundChosen returns when a worker was chosen, not before its pod was created.
func (b *planRun) boundChosen(w *Worker) time.Time {
	return earlier(later(b.chosenSince(w), w.Created), b.now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// timeoutSince returns when the timeout of the drain policy began for a chosen worker: when the drain took effect. It is zero
// before that. For a worker that cannot be drained it begins with the choice: its record is FUTURE, its slurmd does not run, or
// Slurm no longer exists. If a reading lacks the node of a running slurmd, the reading may be wrong.
func (b *planRun) timeoutSince(w *Worker) time.Time {
	record, known := b.slurm.Records[w.SlurmName]
	if !b.slurm.Connected || b.slurm.Fresh && (record.Future || !known && !w.Running) {
		return b.boundChosen(w)
	}
	return b.drainedSince(w)
}
