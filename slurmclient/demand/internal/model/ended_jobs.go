package model

import (
	"iter"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// leavingTime is how long after its end a job counts as leaving its nodes. Nodes are COMPLETING until the processes and the
// epilog of the job have ended (slurm.conf(5), Epilog), usually for a second or two. A node that takes longer counts as used, since
// the epilog may hang.
const leavingTime = 30 * time.Second

// maxLeftNames is how many names the node lists of all jobs together may have. A server may answer anything, and where they have more,
// no node counts as left.
const maxLeftNames = 1 << 18

// remainingWork is what jobs have of a node that other jobs left a short time ago.
type remainingWork struct {
	jobs        int
	cpus        uint64
	memory      uint64
	gres        map[string]uint64
	isUncounted bool // what some job has of the node is unknown
}

// remainingWorkByNode returns the remaining work of every node that jobs left a short time ago, by name. Nodes on which a job
// still completes that ended earlier are not among them.
func remainingWorkByNode(now slurm.Time, jobs []*slurm.Job) map[string]*remainingWork {
	work, names := map[string]*remainingWork{}, 0
	for _, j := range jobs {
		if j.Nodes != "" && isLeaving(now, j) {
			for name := range nodeNamesOf(j) {
				if names++; names > maxLeftNames {
					return nil
				}
				work[name] = &remainingWork{}
			}
		}
	}
	if len(work) == 0 {
		return nil
	}
	for _, j := range jobs {
		if j.Nodes == "" || isLeaving(now, j) || !occupancy.HoldsNodes(j) {
			continue
		}
		isActive := j.State.Base == slurm.JobRunning || j.State.Base == slurm.JobSuspended
		for name := range nodeNamesOf(j) {
			if names++; names > maxLeftNames {
				return nil
			}
			switch w := work[name]; {
			case w == nil:
			case isActive:
				w.addJob(j)
			default:
				delete(work, name)
			}
		}
	}
	return work
}

// isLeaving reports whether a job ended a short time ago.
func isLeaving(now slurm.Time, j *slurm.Job) bool {
	return j.State.Base.Finished() && j.EndTime.IsSet() && j.EndTime <= now+clockTolerance && now.Sub(j.EndTime) <= leavingTime
}

// nodeNamesOf returns the names of the nodes of a job, none if the list is malformed.
func nodeNamesOf(j *slurm.Job) iter.Seq[string] {
	if !strings.ContainsAny(j.Nodes, "[,") {
		return func(yield func(string) bool) { yield(j.Nodes) }
	}
	names, err := hostlist.All(j.Nodes)
	if err != nil {
		return func(func(string) bool) {}
	}
	return names
}

// addJob adds a job that holds the node. slurmctld reports the sum over all nodes of a job, so only jobs on one node are counted.
func (w *remainingWork) addJob(j *slurm.Job) {
	w.jobs++
	text, hasGPUs := j.AllocatedTRES()
	t, err := slurm.ParseTRES(text)
	cpus, known := j.CPUs.Value()
	if !known || cpus == 0 || j.NodeCount.Or(0) != 1 || !hasGPUs || err != nil {
		w.isUncounted = true
		return
	}
	w.cpus, w.memory = saturating.Add(w.cpus, cpus), saturating.Add(w.memory, t.MemoryMiB)
	for name, n := range t.GRES {
		if w.gres == nil {
			w.gres = map[string]uint64{}
		}
		w.gres[name] = saturating.Add(w.gres[name], n)
	}
}

// nodeAfterEnds returns the record that a busy node will have once it has completed the jobs that ended a short time ago. It returns
// nil if no other job could start there then, or if the node has the same room now.
func nodeAfterEnds(n *slurm.Node, w *remainingWork, reserved bool) *slurm.Node {
	const not = flagsUnusable | flagsReserved | flagsOff | slurm.NodeNotResponding
	if w == nil || reserved || n.State.Any(not) || n.Owner != "" && w.jobs > 0 {
		return nil
	}
	switch n.State.Base {
	case slurm.NodeIdle, slurm.NodeMixed, slurm.NodeAllocated:
	default:
		return nil
	}
	after := *n
	if !w.isUncounted {
		after.AllocCPUs = uint32(min(uint64(n.AllocCPUs), w.cpus))
		after.AllocMemoryMiB = min(n.AllocMemoryMiB, w.memory)
		after.GRESUsed, after.TRESUsed = "", slurm.FormatGRES(w.gres)
	}
	hasRoom := n.State.Base == slurm.NodeMixed && !n.State.Has(slurm.NodeCompleting)
	if hasRoom && after.AllocCPUs == n.AllocCPUs && after.AllocMemoryMiB == n.AllocMemoryMiB {
		return nil
	}
	return &after
}
