package references

import (
	"fmt"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/constraint"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Pending contains the requests of pending jobs, by partition and by feature expression (sbatch --constraint and --prefer).
type Pending map[string]map[string]Request

// Request summarizes the pending jobs of one partition with one feature expression.
type Request struct {
	// Nodes is the largest number of nodes that one of the jobs requests at least, and Largest the first such job.
	Nodes   int
	Largest uint32
	// First is the job with the lowest id.
	First uint32
}

// maxNodes bounds the number of nodes of a job: a server may answer anything.
const maxNodes = 1 << 30

// PendingByPartition returns what pending jobs request: also held ones, those that wait for others or for a time, arrays,
// components of heterogeneous jobs, and jobs that are about to be requeued. A job that may run in several partitions
// counts in each.
func PendingByPartition(jobs []*slurm.Job) Pending {
	out := Pending{}
	for _, j := range jobs {
		if !isPending(j) {
			continue
		}
		for partition := range strings.SplitSeq(j.Partition, ",") {
			if out[partition] == nil {
				out[partition] = map[string]Request{}
			}
			for _, expression := range expressions(j) {
				r, known := out[partition][expression]
				out[partition][expression] = r.add(j, known)
			}
		}
	}
	return out
}

// expressions returns the feature expressions of a job. A job whose nodes are busy becomes BadConstraints if fewer nodes
// than it requests have the features that it prefers.
func expressions(j *slurm.Job) []string {
	if j.Prefer() == "" || j.Prefer() == j.Features() {
		return []string{j.Features()}
	}
	return []string{j.Features(), j.Prefer()}
}

// add returns the request with another job added.
func (r Request) add(j *slurm.Job, known bool) Request {
	nodes := minNodes(j)
	if nodes > r.Nodes || nodes == r.Nodes && j.ID < r.Largest {
		r.Nodes, r.Largest = nodes, j.ID
	}
	if !known || j.ID < r.First {
		r.First = j.ID
	}
	return r
}

// isPending reports whether a job waits for nodes, or will wait after its current run. A job of unknown state counts.
func isPending(j *slurm.Job) bool {
	const requeued = slurm.JobRequeued | slurm.JobRequeueHold | slurm.JobSpecialExit
	return j.State.Base == slurm.JobPending || j.State.Base == slurm.JobUnknown || j.State.Flags&requeued != 0
}

// minNodes returns how many nodes a pending job requests at least. The number of nodes that slurmctld reports is the
// maximum of a range; the requested TRES have the minimum.
func minNodes(j *slurm.Job) int {
	nodes, known := j.NodeCount.Value()
	if !known || nodes > 1 {
		if t, err := slurm.ParseTRES(j.TRESRequested); err == nil && t.Nodes > 0 {
			nodes = t.Nodes
		}
	}
	if tasks, perNode := j.Tasks.Or(0), j.TasksPerNode().Or(0); perNode > 0 && tasks > 0 {
		nodes = max(nodes, (tasks-1)/perNode+1)
	}
	return int(min(max(nodes, 1), maxNodes))
}

// Nodes counts Slurm nodes by partition, and by their features joined by commas.
type Nodes map[string]map[string]int

// Add counts a node.
func (n Nodes) Add(partitions, features []string) {
	key := strings.Join(features, ",")
	for _, p := range partitions {
		if n[p] == nil {
			n[p] = map[string]int{}
		}
		n[p][key]++
	}
}

// count returns how many nodes of a partition meet a constraint.
func (n Nodes) count(partition string, c *constraint.Constraint) int {
	sum := 0
	for features, nodes := range n[partition] {
		if c.IsMetBy(constraint.FeatureList(strings.Split(features, ","))) {
			sum += nodes
		}
	}
	return sum
}

// Removal is the removal of some or all records of a NodeSet.
type Removal struct {
	// Listed counts all nodes, including the removed ones. Removed counts only the removed nodes.
	Listed, Removed Nodes
	All             bool
}

// JobThatNeeds returns the reason why a pending job needs one of the removed records, which has the given partitions and features. It
// returns "" if no job needs it.
//
// A job needs the record if it requests more nodes than its partition would have, or more nodes with its features than would remain. If the
// NodeSet would have no node left, each job that may run on the record needs it. CPUs, memory and GRES do not count. A constraint counts as
// met only by the removed records if it cannot be read, or if it requests several nodes in numbers or of one kind ("[a*2&b*4]", "[a|b]").
func (p Pending) JobThatNeeds(removal Removal, partitions, features []string) string {
	for _, partition := range partitions {
		first, reason := uint32(0), ""
		for expression, r := range p[partition] {
			job, why := r.needs(removal, partition, expression, features)
			if why != "" && (reason == "" || job < first) {
				first, reason = job, why
			}
		}
		if reason != "" {
			return fmt.Sprintf("job %d %s", first, reason)
		}
	}
	return ""
}

// needs returns which job of the request, with the feature expression, needs a removed record, and why.
func (r Request) needs(removal Removal, partition, expression string, features []string) (job uint32, reason string) {
	remaining := func(c *constraint.Constraint) int {
		return removal.Listed.count(partition, c) - removal.Removed.count(partition, c)
	}
	c, readable := constraint.Parse(expression)
	countable := readable && (r.Nodes == 1 || !strings.ContainsAny(expression, "[*"))
	fits := !readable || c.IsMetBy(constraint.FeatureList(features))
	switch {
	case r.Nodes > remaining(&constraint.Constraint{}), fits && (!countable || r.Nodes > remaining(&c)):
		return r.Largest, fmt.Sprintf("needs %s of partition %s", formatNodes(r.Nodes), partition)
	case fits && removal.All:
		return r.First, fmt.Sprintf("waits in partition %s, and the NodeSet would have no record left", partition)
	}
	return 0, ""
}

func formatNodes(n int) string {
	if n == 1 {
		return "a node"
	}
	return fmt.Sprintf("%d nodes", n)
}
