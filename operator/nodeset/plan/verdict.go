package plan

import (
	"fmt"
	"time"
)

// Config holds what is the same for all NodeSets.
type Config struct {
	// RegisterWithin is how long a scheduled pod may take to register with Slurm.
	RegisterWithin time.Duration
	// BrakeShare of a NodeSet's workers, but at least one, may be deleted for not
	// being registered in each BrakeInterval.
	BrakeShare    float64
	BrakeInterval time.Duration
	// GoneWithin is how long a deleted pod may take to be gone until another takes
	// its place under another ordinal.
	GoneWithin time.Duration
	// RecordsWithin of its deletion a NodeSet with the drain policy Force is waited for
	// until Slurm's records of its workers are gone.
	RecordsWithin time.Duration
}

// DefaultConfig returns what the program does when it is not told otherwise.
func DefaultConfig() Config {
	return Config{RegisterWithin: 5 * time.Minute, BrakeShare: 0.1, BrakeInterval: 10 * time.Minute, GoneWithin: 2 * time.Minute, RecordsWithin: 5 * time.Minute}
}

// verdict is whether a chosen worker may be deleted now.
type verdict struct {
	ok bool
	// unregistered counts against the brake.
	unregistered bool
	// block is what keeps it from being deleted though no work is known of.
	block Block
	look  Look
	// why it may, or what is waited for; at, when not zero, is when to look again.
	why string
	at  time.Time
}

func allowed(look Look, why string) verdict { return verdict{ok: true, look: look, why: why} }

func wait(format string, args ...any) verdict { return verdict{why: fmt.Sprintf(format, args...)} }

func blocked(by Block, format string, args ...any) verdict {
	v := wait(format, args...)
	v.block = by
	return v
}

// judge is the safety promise: whether the worker, which is to go, may be deleted
// now.
func (c Config) judge(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
	switch p := wish.Policy; {
	case p.Force:
		return allowed(LookAtNothing, "the drain policy is Force")
	case p.Timeout > 0 && !since.IsZero() && !now.Before(since.Add(p.Timeout)):
		return allowed(LookAtNothing, "the drain policy's timeout of "+p.Timeout.String()+" has passed")
	case s.Clash != "":
		return blocked(Unread, "%s: have the right one answer, or set spec.drainPolicy.type to Force to delete the worker with what runs on it", s.Clash)
	case s.Taken[w.SlurmName] != "" && w.KubeNode != "" && !w.Finished:
		return blocked(Unread, "its Slurm node belongs to NodeSet %s", s.Taken[w.SlurmName])
	case !s.Connected && w.Finished, !s.Connected && w.KubeNode == "":
		return allowed(LookAtNothing, "nothing of it runs, and its Slurm cluster is not there any more")
	case !s.Connected:
		return blocked(Unread, "%s, so that nobody can see whether it has jobs: make it again, or set spec.drainPolicy.type to Force to delete the worker with what runs on it", s.Problem)
	case !s.Known:
		return blocked(Unread, "Slurm has not been read since the operator started")
	case w.Finished:
		return allowed(LookAtNothing, "its containers have ended")
	case w.KubeNode == "":
		return allowed(LookAtNothing, "it was never scheduled")
	case !s.Fresh:
		return blocked(Unread, "the reading of Slurm is not fresh: %s", s.Problem)
	}
	record, known := s.Records[w.SlurmName]
	if !known || record.Future {
		return c.judgeUnregistered(now, s, w)
	}
	return judgeRegistered(s, w, record)
}

func judgeRegistered(s *Slurm, w *Worker, record Record) verdict {
	if work := s.Work[w.SlurmName]; record.Busy || work.Jobs > 0 {
		v := wait("it has work")
		if work.Jobs > 0 {
			v = wait("job %d is running on it", work.LastJob)
		}
		return v
	}
	if !record.Drain {
		return wait("its Slurm node is not drained yet")
	}
	if !s.drained(w.SlurmName) {
		return wait("the jobs have not been listed since it was drained")
	}
	return allowed(LookDrained, "it is drained and has no job")
}

// drained reports that jobs were listed after the Slurm node was seen to take no
// new ones.
func (s *Slurm) drained(name string) bool {
	since, ok := s.DrainedSince[name]
	return ok && !s.JobsReadAt.Before(since)
}

// judgeUnregistered is for a worker that Slurm does not know. While slurmd runs it may
// have jobs that slurmctld lost, and one that does not run yet could register at any
// moment and be given a job, so it has time to.
func (c Config) judgeUnregistered(now time.Time, s *Slurm, w *Worker) verdict {
	due := w.Created.Add(c.RegisterWithin)
	switch {
	case s.Work[w.SlurmName].Jobs > 0:
		return wait("job %d is on it, though Slurm does not list the node", s.Work[w.SlurmName].LastJob)
	case c.strayed(now, s, w):
		v := allowed(LookFuture, "its slurmd runs and did not register with Slurm in "+c.RegisterWithin.String())
		v.unregistered = true
		return v
	case w.Running || w.Ready:
		v := blocked(Unregistered, "Slurm does not know its node, though slurmd is running: it may have jobs that Slurm lost; delete the pod if it has none")
		if s.Records[w.SlurmName].Future {
			v = blocked(Unregistered, "its slurmd is running and did not register with Slurm yet")
			v.at = w.RunningSince.Add(c.RegisterWithin)
		}
		return v
	case now.Before(due):
		v := wait("it may still register with Slurm")
		v.at = due
		return v
	case s.Total == 0:
		return blocked(Unregistered, "Slurm lists no nodes at all, which may be a fault of its own")
	}
	v := allowed(LookUnregistered, "it did not register with Slurm in "+c.RegisterWithin.String())
	v.unregistered = true
	return v
}

// strayed reports that the worker's slurmd has run for long, and Slurm still has its
// record as FUTURE: no slurmd took that over, so that no job was ever given to it.
func (c Config) strayed(now time.Time, s *Slurm, w *Worker) bool {
	return w.Running && !w.RunningSince.IsZero() && s.Records[w.SlurmName].Future && s.Work[w.SlurmName].Jobs == 0 &&
		!now.Before(w.RunningSince.Add(c.RegisterWithin)) && !s.NodesReadAt.Before(w.RunningSince.Add(c.RegisterWithin))
}

// brake returns how many more workers may be deleted now for not being registered,
// and when that may grow.
func (c Config) brake(now time.Time, workers int, past []time.Time) (left int, grows time.Time) {
	left = max(1, int(c.BrakeShare*float64(workers)))
	for _, t := range past {
		if end := t.Add(c.BrakeInterval); now.Before(end) {
			left--
			if grows.IsZero() || end.Before(grows) {
				grows = end
			}
		}
	}
	return max(0, left), grows
}
