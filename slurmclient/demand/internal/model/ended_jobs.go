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

// maxLeftNames is the maximum number of names in the node lists of all jobs together. A server may answer anything. Above the maximum, no
// node counts as left.
const maxLeftNames = 1 << 18

// leftNode is a node that jobs left a short time ago. otherJobsRun is whether other jobs are running or suspended there.
type leftNode struct {
	ended        []*slurm.Job
	otherJobsRun bool
}

// leftNodesByName returns the nodes that jobs left a short time ago, except nodes that a job takes longer to leave. It returns no nodes if
// the nodes of some other job are unknown.
func leftNodesByName(now slurm.Time, jobs []*slurm.Job) map[string]*leftNode {
	left, names := nodesOfEndedJobs(now, jobs)
	if len(left) == 0 {
		return nil
	}
	for _, j := range jobs {
		if isLeaving(now, j) || !occupancy.HoldsNodes(j) {
			continue
		}
		nodes, ok := nodeNamesOf(j)
		if !ok {
			return nil
		}
		runs := j.State.Base == slurm.JobRunning || j.State.Base == slurm.JobSuspended
		for name := range nodes {
			if names++; names > maxLeftNames {
				return nil
			}
			switch n := left[name]; {
			case n == nil:
			case runs:
				n.otherJobsRun = true
			default:
				delete(left, name)
			}
		}
	}
	return left
}

// nodesOfEndedJobs returns the nodes of the jobs that ended a short time ago, and how many names their lists have. It returns no nodes if
// the lists have too many names.
func nodesOfEndedJobs(now slurm.Time, jobs []*slurm.Job) (left map[string]*leftNode, names int) {
	left = map[string]*leftNode{}
	for _, j := range jobs {
		if j.Nodes == "" || !isLeaving(now, j) {
			continue
		}
		nodes, _ := nodeNamesOf(j)
		for name := range nodes {
			if names++; names > maxLeftNames {
				return nil, names
			}
			if left[name] == nil {
				left[name] = &leftNode{}
			}
			left[name].addEnded(j)
		}
	}
	return left, names
}

// addEnded adds a job once, though its list may name the node several times.
func (n *leftNode) addEnded(j *slurm.Job) {
	if last := len(n.ended) - 1; last < 0 || n.ended[last] != j {
		n.ended = append(n.ended, j)
	}
}

// isLeaving reports whether a job ended a short time ago.
func isLeaving(now slurm.Time, j *slurm.Job) bool {
	return j.State.Base.Finished() && j.EndTime.IsSet() && j.EndTime <= now+clockTolerance && now.Sub(j.EndTime) <= leavingTime
}

// nodeNamesOf returns the names of the nodes of a job. If the list is missing or malformed, it returns no names and ok is false.
func nodeNamesOf(j *slurm.Job) (names iter.Seq[string], ok bool) {
	if j.Nodes != "" && len(j.Nodes) <= hostlist.MaxNameLength && !strings.ContainsAny(j.Nodes, "[], \t\r\n") {
		return func(yield func(string) bool) { yield(j.Nodes) }, true
	}
	names, err := hostlist.All(j.Nodes)
	if err != nil || j.Nodes == "" {
		return func(func(string) bool) {}, false
	}
	return names, true
}

// recordAfterEnds returns the record to use for pending jobs on a node without room that jobs left a short time ago. It returns nil if they
// make no room.
func (s *NodeShape) recordAfterEnds(n *slurm.Node, left *leftNode, reserved bool) *slurm.Node {
	switch {
	case left == nil || reserved || n.State.Any(flagsKeptFree):
	case n.State.Has(slurm.NodeCompleting):
		// slurmctld frees a job's resources when the job ends, so the record is right.
		if n.Owner == "" && (n.State.Base == slurm.NodeIdle || n.State.Base == slurm.NodeMixed) {
			return n
		}
	case n.State.Allocated() && !left.otherJobsRun && uint64(n.AllocCPUs) <= s.cpusOfEnded(left):
		// The node was read before the jobs ended.
		return &slurm.Node{}
	}
	return nil
}

// cpusOfEnded returns how many CPUs of the node the ended jobs had. slurmctld reports the sum over all nodes of a job.
func (s *NodeShape) cpusOfEnded(left *leftNode) (cpus uint64) {
	for _, j := range left.ended {
		if nodes := j.NodeCount.Or(0); nodes > 0 {
			cpus = saturating.Add(cpus, s.WholeCores(DivideUp(j.CPUs.Or(0), nodes), j.ThreadsPerCore().Or(0)))
		}
	}
	return cpus
}
