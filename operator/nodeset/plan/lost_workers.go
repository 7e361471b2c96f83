package plan

import "time"

// registeredSince returns since when the slurmd of a worker is known to be registered, zero for not yet.
// It belongs to the slurmd that runs now.
func (b *planRun) registeredSince(w *Worker) time.Time {
	record, ok := b.registeredRecord(w)
	// The record of an earlier worker is down until slurmd takes it over.
	if !w.hasRegistered() && ok && w.Running && w.Ready && !record.Down && b.slurm.NodesReadAt.After(w.ReadySince.Add(time.Second)) {
		return b.now
	}
	return w.DrainMark.Registered
}

// hasRegistered reports whether the slurmd that runs now was once registered with Slurm.
func (w *Worker) hasRegistered() bool {
	return w.Running && !w.DrainMark.Registered.IsZero() && !w.DrainMark.Registered.Before(w.RunningSince)
}

// isLost reports whether Slurm lost the record of a worker that was registered: slurmctld came back
// with an older state. The worker may have jobs that no list shows.
func (b *planRun) isLost(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	return b.slurm.Fresh && w.hasRegistered() && (!known || record.Future) &&
		b.slurm.NodesReadAt.After(w.DrainMark.Registered)
}

// The first request to register again comes when slurmd has long been running without a record, others
// follow while that lasts. The agent in the pod waits until no step runs: slurmctld ends steps that it does
// not know when their node registers.
const (
	registerAgainAfter = time.Minute
	registerAgainEvery = 2 * time.Minute
)

// registrationRequest returns when the slurmd of a worker was last asked to register again: now if Slurm
// lost its record, or never saw it although slurmd runs. slurmctld may have been killed within seconds of
// its registration.
func (b *planRun) registrationRequest(w *Worker) time.Time {
	record, known := b.slurm.Records[w.SlurmName]
	due := w.RunningSince.Add(registerAgainAfter)
	missing := b.slurm.Fresh && w.Running && (!known || record.Future) && !b.slurm.NodesReadAt.Before(due)
	last := w.DrainMark.RegisterAgain
	next := last.Add(registerAgainEvery)
	switch {
	case !missing && !b.isLost(w):
	case b.now.Before(next):
		b.requeueAt(next)
	default:
		return b.now
	}
	return last
}
