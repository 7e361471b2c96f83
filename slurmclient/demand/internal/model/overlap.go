package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Overlap describes the jobs and nodes that are in several partitions, so that a sum over
// partitions can count them once.
type Overlap struct {
	PendingJobs, EligibleJobs, BusyNodes, IdleNodes []SharedCount
}

// SharedCount is the number of jobs or nodes that are in all of the partitions, which are sorted.
type SharedCount struct {
	Partitions []string
	Count      uint64
}

// ExcessCount returns by how much a sum over the chosen partitions is too high.
func ExcessCount(sets []SharedCount, chosen map[string]bool) uint64 {
	var n uint64
	for _, s := range sets {
		var in uint64
		for _, p := range s.Partitions {
			if chosen[p] {
				in++
			}
		}
		if in > 1 {
			n += (in - 1) * s.Count
		}
	}
	return n
}

// countsByPartitions are counts by a list of partitions such as "a,b".
type countsByPartitions map[string]uint64

// sharedCounts returns the counts of lists with several partitions, in a fixed order.
func (c countsByPartitions) sharedCounts() []SharedCount {
	var out []SharedCount
	for list, n := range c {
		names := strings.Split(list, ",")
		slices.Sort(names)
		if names = slices.Compact(names); n > 0 && len(names) > 1 {
			out = append(out, SharedCount{names, n})
		}
	}
	slices.SortFunc(out, func(a, b SharedCount) int {
		return cmp.Or(slices.Compare(a.Partitions, b.Partitions), cmp.Compare(a.Count, b.Count))
	})
	return out
}

// OverlapOf returns the overlap of the partitions once all nodes are added.
func (c *Cluster) OverlapOf(now slurm.Time, jobs []*slurm.Job) Overlap {
	var o Overlap
	o.PendingJobs, o.EligibleJobs = countSharedJobs(now, jobs)
	o.BusyNodes, o.IdleNodes = c.countSharedNodes()
	return o
}

// countSharedJobs counts the pending jobs that may run in several partitions, and how many of them more nodes would
// help according to their records.
func countSharedJobs(now slurm.Time, jobs []*slurm.Job) (waiting, eligible []SharedCount) {
	all, helped := countsByPartitions{}, countsByPartitions{}
	for _, j := range jobs {
		if j.State.Base != slurm.JobPending || !strings.Contains(j.Partition, ",") {
			continue
		}
		tasks, _ := pending.CountTasks(j)
		all[j.Partition] += tasks
		if pending.Classify(now, j) == pending.ClassCapacity {
			helped[j.Partition] += pending.RunnableTasks(j, 0)
		}
	}
	return all.sharedCounts(), helped.sharedCounts()
}

// countSharedNodes counts the busy and idle nodes that are in several partitions.
func (c *Cluster) countSharedNodes() (busy, idle []SharedCount) {
	busyOf, idleOf := countsByPartitions{}, countsByPartitions{}
	lists := make([]string, len(c.Shapes))
	for i := range c.Shapes {
		if names := c.Shapes[i].Partitions; len(names) > 1 {
			list := make([]string, len(names))
			for k, at := range names {
				list[k] = c.Partitions[at].Name
			}
			lists[i] = strings.Join(list, ",")
		}
	}
	for i := range c.Nodes {
		list := lists[c.Nodes[i].Shape]
		switch {
		case list == "":
		case c.Nodes[i].Use == UseBusy:
			busyOf[list]++
		case c.Nodes[i].Use == useIdle:
			idleOf[list]++
		}
	}
	return busyOf.sharedCounts(), idleOf.sharedCounts()
}
