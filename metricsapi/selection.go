package metricsapi

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Labels of the partitions' metrics.
const (
	labelPartition = "partition"
	labelCluster   = "cluster"
)

// selection is some partitions of one cluster.
type selection struct {
	reading *Reading
	chosen  []demand.Partition
}

// choose returns the partitions of the cluster that the selector matches by their
// labels; within limits them to some names, and is nil for all.
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

// once is the sum with what several of the partitions share counted once. It is
// never less than the largest of the partitions.
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

// eligibleJobs counts a job twice where one of the partitions has jobs that it can
// not run: which of those are eligible in another can not be told.
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

// pendingNodes needs no care: a job asks for nodes in one partition only.
func (s selection) pendingNodes() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.PendingNodes })
}

func (s selection) requiredNodes() uint64 { return s.busyNodes() + s.pendingNodes() }

func (s selection) runningJobs() uint64 {
	return s.sum(func(p demand.Partition) uint64 { return p.RunningJobs })
}

// oldestPending is in seconds, at the time of the reading and not of the query,
// since that is the time that the value carries.
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
