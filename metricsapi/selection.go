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
type selection struct {
	reading *Reading
	chosen  []demand.Partition
}

// selectPartitions returns the partitions of the cluster whose labels match the selector. within
// limits them to some names; nil allows all names.
func (r *Reading) choose(cluster string, within []string, matching labels.Selector) selection {
	s := selection{reading: r}
	for _, p := range r.demand.Partitions {
		if within != nil && !slices.Contains(within, p.Name) {
			continue
		}
		if matching.Empty() || matching.Matches(labels.Set{labelPartition: p.Name, labelCluster: cluster}) {
			s.chosen = append(s.chosen, p)
		}
	}
	return s
}

func (s selection) sum(of func(p demand.Partition) uint64) uint64 {
	var n uint64
	for _, p := range s.chosen {
		n += of(p)
	}
	return n
}

// sumOnce returns the sum with shared jobs or nodes counted once. It is at least the value of
// the largest partition.
func (s selection) once(of func(p demand.Partition) uint64, sets []shared) uint64 {
	if len(s.chosen) < 2 || len(sets) == 0 {
		return s.sum(of)
	}
	names := map[string]bool{}
	var largest uint64
	for _, p := range s.chosen {
		names[p.Name] = true
		largest = max(largest, of(p))
	}
	sum, twice := s.sum(of), excess(sets, names)
	return max(largest, sum-min(sum, twice))
}

func (s selection) pendingJobs() uint64 {
	return s.once(func(p demand.Partition) uint64 { return p.PendingJobs }, s.reading.overlap.pendingJobs)
}

// eligibleJobs counts shared jobs several times if a partition has jobs that it cannot run,
// because it is not known which of those are eligible in another partition.
func (s selection) eligibleJobs() uint64 {
	of := func(p demand.Partition) uint64 { return p.EligiblePendingJobs }
	if slices.ContainsFunc(s.chosen, func(p demand.Partition) bool { return len(p.Unsatisfiable) > 0 }) {
		return s.sum(of)
	}
	return s.once(of, s.reading.overlap.eligibleJobs)
}

func (s selection) busyNodes() uint64 {
	return s.once(func(p demand.Partition) uint64 { return p.BusyNodes }, s.reading.overlap.busyNodes)
}

func (s selection) idleNodes() uint64 {
	return s.once(func(p demand.Partition) uint64 { return p.IdleNodes }, s.reading.overlap.idleNodes)
}

// pendingNodes is a plain sum, because a job creates demand in one partition only.
func (s selection) pendingNodes() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.PendingNodes })
}

func (s selection) requiredNodes() uint64 { return s.busyNodes() + s.pendingNodes() }

func (s selection) runningJobs() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.RunningJobs })
}

// oldestPending returns seconds at the time of the reading, not of the query, because that is
// the timestamp of the value.
func (s selection) oldestPending() uint64 {
	var longest int64
	now := serverTime(s.reading.At(), s.reading.snapshot)
	for _, p := range s.chosen {
		if p.OldestPending.IsSet() {
			longest = max(longest, int64(now-p.OldestPending))
		}
	}
	return uint64(longest)
}
