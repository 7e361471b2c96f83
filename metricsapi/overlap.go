package metricsapi

import (
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// overlap describes the jobs and nodes that are in several partitions, so that a sum over
// partitions can count them once.
type overlap struct {
	pendingJobs, eligibleJobs []sharedCount
	busyNodes, idleNodes      []sharedCount
}

// sharedCount is the number of jobs or nodes that are in all of the partitions.
type sharedCount struct {
	partitions []string
	count      uint64
}

// excessCount returns by how much a sum over the chosen partitions is too high.
func excessCount(sets []sharedCount, chosen map[string]bool) uint64 {
	var n uint64
	for _, s := range sets {
		var in uint64
		for _, p := range s.partitions {
			if chosen[p] {
				in++
			}
		}
		if in > 1 {
			n += (in - 1) * s.count
		}
	}
	return n
}

func overlapOf(now time.Time, s *slurmclient.Snapshot) overlap {
	var o overlap
	o.pendingJobs, o.eligibleJobs = countSharedJobs(demand.ServerTime(now, s), s.Jobs.Value)
	o.busyNodes, o.idleNodes = countSharedNodes(now, s)
	return o
}

// countsByPartitions are counts by a list of partitions such as "a,b".
type countsByPartitions map[string]uint64

func (c countsByPartitions) sharedCounts() []sharedCount {
	var out []sharedCount
	for list, n := range c {
		names := strings.Split(list, ",")
		slices.Sort(names)
		if names = slices.Compact(names); n > 0 && len(names) > 1 {
			out = append(out, sharedCount{names, n})
		}
	}
	return out
}

// countSharedJobs counts the pending jobs that may run in several partitions, and those of them
// that more nodes would help according to their records.
func countSharedJobs(now slurm.Time, jobs []*slurm.Job) (pending, eligible []sharedCount) {
	all, helped := countsByPartitions{}, countsByPartitions{}
	for _, j := range jobs {
		if j.State.Base != slurm.JobPending || !strings.Contains(j.Partition, ",") {
			continue
		}
		tasks, _ := demand.PendingTasks(j)
		all[j.Partition] += tasks
		if demand.Classify(now, j) == demand.ClassCapacity {
			helped[j.Partition] += demand.RunnableTasks(j, 0)
		}
	}
	return all.sharedCounts(), helped.sharedCounts()
}

// countSharedNodes counts the busy and idle nodes that are in several partitions. It lets
// package demand classify the nodes, with each list of partitions as one partition.
func countSharedNodes(now time.Time, s *slurmclient.Snapshot) (busy, idle []sharedCount) {
	lists := map[string]bool{}
	var nodes []*slurm.Node
	for _, n := range s.Nodes.Value {
		if len(n.Partitions) < 2 {
			continue
		}
		list := strings.Join(n.Partitions, ",")
		lists[list] = true
		renamed := *n
		renamed.Partitions = []string{list}
		nodes = append(nodes, &renamed)
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	t := *s
	t.Nodes.Value = nodes
	t.Jobs.Value = hiddenBusyJobs(s.Jobs.Value)
	t.Partitions.Value = nil
	for list := range lists {
		t.Partitions.Value = append(t.Partitions.Value, &slurm.Partition{Name: list, State: slurm.PartitionUp})
	}
	busyOf, idleOf := countsByPartitions{}, countsByPartitions{}
	for _, p := range demand.Compute(now, &t).Partitions {
		busyOf[p.Name], idleOf[p.Name] = p.BusyNodes, p.IdleNodes
	}
	return busyOf.sharedCounts(), idleOf.sharedCounts()
}

// hiddenBusyJobs returns the jobs that make a node busy although its state does not show it.
func hiddenBusyJobs(jobs []*slurm.Job) []*slurm.Job {
	var out []*slurm.Job
	for _, j := range jobs {
		if j.State.Base == slurm.JobSuspended || j.State.Base == slurm.JobRunning && j.State.Has(slurm.JobConfiguring) {
			out = append(out, j)
		}
	}
	return out
}
