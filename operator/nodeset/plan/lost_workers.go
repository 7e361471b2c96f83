package plan

import "time"

// ShowsRegistration reports whether a reading shows that the slurmd of a worker is registered with Slurm. The record
// of an earlier worker is down, or FUTURE, until slurmd takes it over. A worker with a failing sidecar is never Ready, and has jobs.
func (s *SlurmReading) ShowsRegistration(w *Worker) bool {
	record, known := s.Records[w.SlurmName]
	return known && s.Fresh && w.Running && (w.Ready || record.showsSlurmdOf(w)) && !record.Future && !record.Down &&
		s.NodesReadAt.After(w.slurmdSince().Add(time.Second)) // Kubernetes' times are whole seconds
}

// showsSlurmdOf reports whether the slurmd of a record has started since the container of a worker has. Both times are of one clock.
func (r *Record) showsSlurmdOf(w *Worker) bool {
	return w.Running && !r.SlurmdStarted.IsZero() && !r.SlurmdStarted.Before(w.RunningSince.Truncate(time.Second))
}

// slurmdSince returns since when slurmd runs at most. The clock of a Kubernetes node may be behind, and no slurmd is older than
// its pod.
func (w *Worker) slurmdSince() time.Time {
	if w.RunningSince.Before(w.Created) {
		return w.Created
	}
	return w.RunningSince
}

// HasRegistered reports whether the slurmd that runs now was once registered with Slurm.
func (w *Worker) HasRegistered() bool {
	return w.Running && !w.Registered.IsZero() && !w.Registered.Before(w.RunningSince)
}

// isLost reports whether Slurm lost the record of a worker that was registered: slurmctld came back
// with an older state. The worker may have jobs that no list shows. A registration far in the future was seen before the clock
// was set back.
func (b *planRun) isLost(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	return b.slurm.Fresh && w.HasRegistered() && (!known || record.Future) &&
		(b.slurm.NodesReadAt.After(w.Registered) || w.Registered.After(b.now.Add(maxClockSkew)))
}

// reportLost reports a worker whose record Slurm lost.
func (b *planRun) reportLost(w *Worker) {
	b.actions.LostBySlurm = append(b.actions.LostBySlurm, w.Pod)
	if w.NoAgent {
		b.actions.AskedByHand = append(b.actions.AskedByHand, w.Pod)
	}
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
	due := w.slurmdSince().Add(registerAgainAfter)
	missing := b.slurm.Fresh && w.Running && (!known || record.Future) && !b.slurm.NodesReadAt.Before(due)
	last := w.DrainMark.RegisterAgain
	switch {
	case w.NoAgent, !missing && !b.isLost(w):
	case isWithin(b.now, last, registerAgainEvery):
		b.requeueAt(last.Add(registerAgainEvery))
	default:
		return b.now
	}
	return last
}
