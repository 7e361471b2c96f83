// Package occupancy decides which jobs hold which Slurm nodes, by the records of jobs. It is pure:
// the same records give the same result in any order.
//
// In doubt a node counts as held. A job holds the nodes that its record names until it has finished, whatever its state. It may be running,
// suspended, being configured, or pending again while its last run completes. A finished job holds its nodes while its flags show that
// parts of it may still be there. Steps do not matter, since they run on nodes of their job. If the nodes of one job cannot be determined,
// nothing is known about any node.
package occupancy

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Work summarizes the jobs that hold one Slurm node. The zero value is a node that no job holds.
type Work struct {
	// Jobs is the number of jobs.
	Jobs int
	// LastJob is the id of the job that ends last, at End. End is zero without a time limit, or if
	// it is not known. If several jobs end last, LastJob is the smallest of their ids.
	LastJob uint32
	End     time.Time
}

// maxHeld limits the sum of the nodes that each job holds. Slurm has at most 65,536 nodes, but a server may answer anything.
const maxHeld = 1 << 22

// ByNode returns the work of every node that a job holds, by name. If the nodes of a job cannot be
// determined, it returns no work and an error that names the job.
func ByNode(jobs []*slurm.Job) (map[string]Work, error) {
	work := map[string]Work{}
	held := 0
	for _, j := range jobs {
		if !HoldsNodes(j) {
			continue
		}
		if j.Nodes == "" {
			return nil, fmt.Errorf("job %d is %s and has no list of nodes", j.ID, j.State)
		}
		names, err := hostlist.All(j.Nodes)
		if err != nil {
			return nil, fmt.Errorf("the nodes of job %d cannot be read: %w", j.ID, err)
		}
		end := endOf(j)
		for name := range names {
			work[name] = work[name].add(j.ID, end)
			held++
			if held > maxHeld || len(work) > hostlist.MaxNames {
				return nil, fmt.Errorf("the jobs hold more than %d nodes, or nodes of more than %d names", maxHeld, hostlist.MaxNames)
			}
		}
	}
	return work, nil
}

// add adds a job that ends at end, zero for unknown.
func (w Work) add(id uint32, end time.Time) Work {
	if w.Jobs == 0 || endsLater(end, w.End) || end.Equal(w.End) && id < w.LastJob {
		w.LastJob, w.End = id, end
	}
	w.Jobs++
	return w
}

// endsLater reports whether a ends later than b. An unknown end is later than any other.
func endsLater(a, b time.Time) bool {
	if a.IsZero() || b.IsZero() {
		return a.IsZero() && !b.IsZero()
	}
	return a.After(b)
}

// flagsOnNodes are the flags with which a finished job may still be on its nodes.
const flagsOnNodes = slurm.JobCompleting | slurm.JobConfiguring | slurm.JobStopped | slurm.JobResizing |
	slurm.JobPowerUpNode | slurm.JobSignaling | slurm.JobStageOut | slurm.JobOther

// HoldsNodes reports whether a job holds nodes, or may hold them according to its record. A record that names nodes counts unless the job
// has finished. A running or suspended job counts even if its record names no node, unless it has returned all its nodes.
func HoldsNodes(j *slurm.Job) bool {
	if j.Nodes != "" {
		return !j.State.Base.Finished() || j.State.Flags&flagsOnNodes != 0
	}
	if j.State.Base != slurm.JobRunning && j.State.Base != slurm.JobSuspended || j.State.Has(slurm.JobRevoked) {
		return false
	}
	count, known := j.NodeCount.Value()
	return !known || count > 0
}

// endOf returns when the job reaches its time limit, zero for unknown. Slurm also writes an end into
// the records of jobs without a limit, and a suspended job's end moves while it is suspended.
func endOf(j *slurm.Job) time.Time {
	if j.State.Base == slurm.JobSuspended || j.TimeLimit.IsInfinite() || !j.EndTime.IsSet() {
		return time.Time{}
	}
	return j.EndTime.Time()
}

// GotWork reports whether a node was given work between two readings of its record. before is nil
// for a node that is new.
func GotWork(before, now *slurm.Node) bool {
	if !now.State.Allocated() {
		return false
	}
	return before == nil || !before.State.Allocated() ||
		now.AllocCPUs > before.AllocCPUs || now.AllocMemoryMiB > before.AllocMemoryMiB
}
