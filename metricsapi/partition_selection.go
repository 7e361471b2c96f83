package metricsapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Labels of the metrics of partitions.
const (
	labelPartition = "partition"
	labelCluster   = "cluster"
)

// partitionSelection is a set of partitions of one cluster.
type partitionSelection struct {
	reading    *Reading
	partitions []demand.Partition
}

// selectPartitions returns the partitions of the cluster whose labels match the selector. within
// limits them to some names; nil allows all names.
func (r *Reading) selectPartitions(cluster string, within []string, matching labels.Selector) partitionSelection {
	s := partitionSelection{reading: r}
	for _, p := range r.demand.Partitions {
		if within != nil && !slices.Contains(within, p.Name) {
			continue
		}
		if matching.Empty() || matching.Matches(labels.Set{labelPartition: p.Name, labelCluster: cluster}) {
			s.partitions = append(s.partitions, p)
		}
	}
	return s
}

func (s partitionSelection) sum(of func(p demand.Partition) uint64) uint64 {
	var n uint64
	for _, p := range s.partitions {
		n += of(p)
	}
	return n
}

// sumOnce returns the sum with shared jobs or nodes counted once. It is at least the value of
// the largest partition.
func (s partitionSelection) sumOnce(of func(p demand.Partition) uint64, sets []demand.SharedCount) uint64 {
	if len(s.partitions) < 2 || len(sets) == 0 {
		return s.sum(of)
	}
	names := map[string]bool{}
	var largest uint64
	for _, p := range s.partitions {
		names[p.Name] = true
		largest = max(largest, of(p))
	}
	sum, twice := s.sum(of), demand.ExcessCount(sets, names)
	return max(largest, sum-min(sum, twice))
}

func (s partitionSelection) pendingJobs() uint64 {
	return s.sumOnce(func(p demand.Partition) uint64 { return p.PendingJobs }, s.reading.demand.Overlap.PendingJobs)
}

// eligibleJobs counts shared jobs several times if a partition has jobs that it cannot run, because it is unknown which
// of these jobs are eligible in another partition.
func (s partitionSelection) eligibleJobs() uint64 {
	of := func(p demand.Partition) uint64 { return p.EligiblePendingJobs }
	if slices.ContainsFunc(s.partitions, func(p demand.Partition) bool { return len(p.Unsatisfiable) > 0 }) {
		return s.sum(of)
	}
	return s.sumOnce(of, s.reading.demand.Overlap.EligibleJobs)
}

func (s partitionSelection) busyNodes() uint64 {
	return s.sumOnce(func(p demand.Partition) uint64 { return p.BusyNodes }, s.reading.demand.Overlap.BusyNodes)
}

func (s partitionSelection) idleNodes() uint64 {
	return s.sumOnce(func(p demand.Partition) uint64 { return p.IdleNodes }, s.reading.demand.Overlap.IdleNodes)
}

// pendingNodes is a plain sum, because a job creates demand in one partition only.
func (s partitionSelection) pendingNodes() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.PendingNodes })
}

func (s partitionSelection) requiredNodes() uint64 { return s.busyNodes() + s.pendingNodes() }

func (s partitionSelection) runningJobs() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.RunningJobs })
}

// oldestPending returns seconds at the time of the reading, not of the query, because that is
// the timestamp of the value.
func (s partitionSelection) oldestPending() uint64 {
	var longest int64
	now := demand.ServerTime(s.reading.ReadAt(), s.reading.snapshot)
	for _, p := range s.partitions {
		if p.OldestPending.IsSet() {
			longest = max(longest, int64(now-p.OldestPending))
		}
	}
	return uint64(longest)
}
