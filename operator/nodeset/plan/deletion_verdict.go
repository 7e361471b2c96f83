package plan

import (
	"fmt"
	"time"
)

// Config contains the limits that all NodeSets share.
type Config struct {
	// RegisterWithin is how long a scheduled pod may take to register with Slurm.
	RegisterWithin time.Duration
	// UnregisteredDeletionShare of a NodeSet's workers, but at least one, may be deleted in each
	// UnregisteredDeletionInterval because they did not register.
	UnregisteredDeletionShare    float64
	UnregisteredDeletionInterval time.Duration
	// PodGoneWithin is the time that a deleted pod gets to disappear before a worker with another ordinal replaces it.
	PodGoneWithin time.Duration
	// RecordsGoneWithin is how long after the deletion of a NodeSet with drain policy Force the
	// operator waits for Slurm's records of its workers to disappear.
	RecordsGoneWithin time.Duration
	// SurplusRecordsKept is how long a FUTURE record stays after the NodeSet stops wanting it. So an HPA that is
	// deleted and recreated, or an edit that is undone, changes nothing.
	SurplusRecordsKept time.Duration
}

// DefaultConfig returns the limits that apply without flags.
func DefaultConfig() Config {
	return Config{RegisterWithin: 5 * time.Minute, UnregisteredDeletionShare: 0.1,
		UnregisteredDeletionInterval: 10 * time.Minute, PodGoneWithin: 2 * time.Minute,
		RecordsGoneWithin: 5 * time.Minute, SurplusRecordsKept: 5 * time.Minute}
}

// Verdict is the decision whether a worker may be deleted now.
type Verdict struct {
	Allowed bool
	// Unregistered deletions are rate limited.
	Unregistered bool
	// BlockReason is set if something other than work prevents the deletion.
	BlockReason BlockReason
	// Precondition must still hold when the worker is deleted.
	Precondition Precondition
	// Message is the reason for the deletion, or what the deletion waits for.
	Message string
	// RecheckAt, unless zero, is when to plan again.
	RecheckAt time.Time
}

func allowDeletion(look Precondition, why string) Verdict {
	return Verdict{Allowed: true, Precondition: look, Message: why}
}

func denyDeletion(format string, args ...any) Verdict {
	return Verdict{Message: fmt.Sprintf(format, args...)}
}

func blockDeletion(by BlockReason, format string, args ...any) Verdict {
	v := denyDeletion(format, args...)
	v.BlockReason = by
	return v
}

// timeoutPrecondition returns what a read must show before a worker is deleted whose timeout has passed. The timeout of
// a FUTURE record began without a drain: its slurmd may have registered since and have a job.
func timeoutPrecondition(s *SlurmReading, w *Worker) Precondition {
	if s.Connected && s.Fresh && s.Records[w.SlurmName].Future {
		return PreconditionStillFuture
	}
	return NoPrecondition
}

// judgeDeletion implements the safety promise: it decides whether a worker to remove may be deleted now.
func (c Config) judgeDeletion(now time.Time, desired *Desired, s *SlurmReading, w *Worker, since time.Time) Verdict {
	switch p := desired.DrainPolicy; {
	case p.Force:
		return allowDeletion(NoPrecondition, "the drain policy is Force")
	case p.Timeout > 0 && !since.IsZero() && !now.Before(since.Add(p.Timeout)):
		return allowDeletion(timeoutPrecondition(s, w), "the drain policy's timeout of "+p.Timeout.String()+" has passed")
	case s.ClusterMismatch != "":
		return blockDeletion(BlockedByStaleReading,
			"%s: restore the connection to the right cluster, or set spec.drainPolicy.type to Force to delete the worker with everything that runs on it", s.ClusterMismatch)
	case s.OwnedByOthers[w.SlurmName] != "" && (!w.hasNeverRun() || s.mayServe(w)) && !w.Finished:
		return blockDeletion(BlockedByStaleReading, "its Slurm node belongs to %s",
			s.OwnedByOthers[w.SlurmName])
	case !s.Connected && !w.Finished && w.KubeNode != "" && w.hasNeverRun() && now.Before(w.Created.Add(c.RegisterWithin)):
		v := denyDeletion("its slurmd may be starting, and its Slurm cluster does not exist any more")
		v.RecheckAt = w.Created.Add(c.RegisterWithin)
		return v
	case !s.Connected && w.Finished, !s.Connected && w.hasNeverRun():
		return allowDeletion(NoPrecondition, "nothing of it runs, and its Slurm cluster does not exist any more")
	case !s.Connected:
		return blockDeletion(BlockedByStaleReading,
			"%s, so it is not known whether the worker has jobs: create it again, or set spec.drainPolicy.type to Force to delete the worker with everything that runs on it", s.Problem)
	case !s.Known:
		return blockDeletion(BlockedByStaleReading, "Slurm has not been read since the operator started")
	case w.Finished:
		return allowDeletion(NoPrecondition, "its containers have ended")
	case w.KubeNode == "":
		return allowDeletion(NoPrecondition, "it was never scheduled")
	case !s.Fresh:
		return blockDeletion(BlockedByStaleReading, "the reading of Slurm is not fresh: %s", s.Problem)
	case s.OwnedByOthers[w.SlurmName] != "":
		return allowDeletion(NoPrecondition, "its slurmd has not run, and its Slurm node belongs to "+s.OwnedByOthers[w.SlurmName])
	}
	record, known := s.Records[w.SlurmName]
	if !known || record.Future {
		return c.judgeUnregistered(now, s, w)
	}
	return judgeRegistered(s, w, record)
}

func judgeRegistered(s *SlurmReading, w *Worker, record Record) Verdict {
	if work := s.Work[w.SlurmName]; record.Busy || work.Jobs > 0 {
		v := denyDeletion("it has work")
		if work.Jobs > 0 {
			v = denyDeletion("job %d is running on it", work.LastJob)
		}
		return v
	}
	if record.Rebooting {
		return allowDeletion(PreconditionRebooting, "slurmctld asked to reboot it, and it has no job")
	}
	if !record.Drain {
		return denyDeletion("its Slurm node is not drained yet")
	}
	if !s.isDrained(w.SlurmName) {
		return denyDeletion("jobs have not been listed since it was drained")
	}
	return allowDeletion(PreconditionDrained, "it is drained and has no job")
}

// isDrained reports whether jobs were listed after the Slurm node was seen to accept no new ones.
func (s *SlurmReading) isDrained(name string) bool {
	since, ok := s.DrainedSince[name]
	return ok && !s.JobsReadAt.Before(since)
}

// judgeUnregistered decides on a worker that Slurm does not know. While slurmd runs, it may have
// jobs that slurmctld lost. If slurmd does not run yet, it could register at any moment and get a
// job, so it gets time to register.
func (c Config) judgeUnregistered(now time.Time, s *SlurmReading, w *Worker) Verdict {
	due := w.Created.Add(c.RegisterWithin)
	switch {
	case w.HasRegistered():
		return blockDeletion(BlockedByRegistration,
			"Slurm lost its record, as after a restore of slurmctld's state: it may have jobs that Slurm does not list, and registers again when these have ended")
	case s.Work[w.SlurmName].Jobs > 0:
		return denyDeletion("job %d runs on it, although Slurm does not list the node", s.Work[w.SlurmName].LastJob)
	case c.hasFailedToRegister(now, s, w):
		v := allowDeletion(PreconditionFuture, "its slurmd is running and did not register with Slurm within "+
			c.RegisterWithin.String())
		v.Unregistered = true
		return v
	case w.Running || w.Ready:
		v := blockDeletion(BlockedByRegistration,
			"Slurm does not know its node although slurmd is running: it may have jobs that Slurm lost; delete the pod if it has none")
		if s.Records[w.SlurmName].Future {
			v = blockDeletion(BlockedByRegistration, "its slurmd is running and has not registered with Slurm yet")
			v.RecheckAt = w.slurmdSince().Add(c.RegisterWithin)
		}
		return v
	case now.Before(due):
		v := denyDeletion("it may still register with Slurm")
		v.RecheckAt = due
		return v
	case s.TotalNodes == 0 && len(s.Records) == 0 && !w.Registered.IsZero():
		return blockDeletion(BlockedByRegistration, "Slurm lists no nodes at all, which may be a fault of Slurm")
	}
	v := allowDeletion(PreconditionUnregistered, "it did not register with Slurm within "+c.RegisterWithin.String())
	v.Unregistered = true
	return v
}

// hasFailedToRegister reports whether the worker's slurmd has long been running while Slurm still
// has its record as FUTURE. No slurmd took that record over, so no job was ever given to it.
func (c Config) hasFailedToRegister(now time.Time, s *SlurmReading, w *Worker) bool {
	due := w.slurmdSince().Add(c.RegisterWithin)
	return w.Running && !w.RunningSince.IsZero() && s.Records[w.SlurmName].Future && s.Work[w.SlurmName].Jobs == 0 &&
		!now.Before(due) && !s.NodesReadAt.Before(due)
}

// remainingUnregisteredDeletions returns the number of workers that may still be deleted now because they did not
// register, and when that number may grow.
func (c Config) remainingUnregisteredDeletions(now time.Time, workers int, past []time.Time) (
	left int, grows time.Time) {
	left = max(1, int(c.UnregisteredDeletionShare*float64(workers)))
	for _, t := range past {
		if end := t.Add(c.UnregisteredDeletionInterval); now.Before(end) {
			left--
			if grows.IsZero() || end.Before(grows) {
				grows = end
			}
		}
	}
	return max(0, left), grows
}
