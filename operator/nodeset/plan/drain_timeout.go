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

// boundDrained returns the time in a worker's annotation, which anybody can write. It is not before the worker was chosen, and a later
// one than now is now: a clock was ahead.
func (b *planRun) boundDrained(w *Worker) time.Time {
	since := w.DrainMark.Drained
	if since.IsZero() {
		return since
	}
	if b.now.Before(since) {
		return b.now
	}
	for _, least := range []time.Time{w.DrainMark.Since, w.Created} {
		if since.Before(least) && !b.now.Before(least) {
			since = least
		}
	}
	return since
}

// timeoutSince returns when the timeout of the drain policy began for a worker that was chosen, zero if
// it has not begun: when the drain took effect. A worker that cannot be drained, because its record is
// FUTURE, its slurmd does not run, or Slurm does not exist any more, is waited for from its choice. That a
// reading lacks the node of a slurmd that runs may be a fault of the reading.
func (b *planRun) timeoutSince(w *Worker) time.Time {
	record, known := b.slurm.Records[w.SlurmName]
	if !b.slurm.Connected || b.slurm.Fresh && (record.Future || !known && !w.Running) {
		return b.chosenSince(w)
	}
	return b.drainedSince(w)
}
