package demand_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// forRandomPools runs a check on clusters and pools that depend only on the seed.
func forRandomPools(t *testing.T,
	check func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool)) {
	t.Helper()
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		for _, n := range s.Nodes.Value {
			n.LastBusy = pickOne(r, 0, demandtest.Noon-5, demandtest.Noon-500)
			n.ActiveFeatures = pickOne(r, nil, nil, n.Features)
		}
		if r.IntN(3) == 0 {
			s.Reservations.Value = append(s.Reservations.Value,
				&slurm.Reservation{Name: "soon", StartTime: demandtest.Noon + 30, EndTime: demandtest.Noon + 99,
					Nodes: "n[3-5]"})
		}
		check(t, r, s, randomPools(r))
	})
}

func randomPools(r *rand.Rand) []demand.Pool {
	var pools []demand.Pool
	for _, feature := range []string{"x", "y", "z", "x"} {
		p := demand.Pool{
			Name: feature + string(rune('1'+len(pools))), Feature: feature, Min: r.Uint64N(3),
			Max:        pickOne[uint64](r, 0, 1, 2, 3, 5, 9),
			Partitions: pickOne(r, nil, []string{"a"}, []string{"b", "a"}, []string{"c"}, []string{"a", "b", "c", "d"}),
			Replicas:   r.Uint64N(6), IdleGrace: pickOne(r, 0, time.Minute),
			ReservationLead: pickOne(r, 0, time.Minute),
		}
		if r.IntN(2) == 0 {
			p.Shape = &demand.Shape{
				CPUs: pickOne[uint64](r, 0, 4, 8), MemoryMiB: pickOne[uint64](r, 0, 8000, 16000),
				GRES:     pickOne(r, "", "gpu:h100:4"),
				Features: pickOne(r, nil, []string{"y"}), Weight: pickOne[uint32](r, 0, 1, 2),
			}
		}
		if r.IntN(3) > 0 {
			pools = append(pools, p)
		}
	}
	return pools
}

func TestTheOrderOfNodesJobsAndPoolsChangesNothing(t *testing.T) {
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		before := demandtest.ComputePools(s, pools)
		r.Shuffle(len(s.Nodes.Value), func(i, j int) { swapItems(s.Nodes.Value, i, j) })
		r.Shuffle(len(s.Jobs.Value), func(i, j int) { swapItems(s.Jobs.Value, i, j) })
		r.Shuffle(len(s.Partitions.Value), func(i, j int) { swapItems(s.Partitions.Value, i, j) })
		r.Shuffle(len(s.Reservations.Value), func(i, j int) { swapItems(s.Reservations.Value, i, j) })
		pools = slices.Clone(pools)
		r.Shuffle(len(pools), func(i, j int) { swapItems(pools, i, j) })
		after := demandtest.ComputePools(s, pools)
		for i := range pools {
			if after.Pools[i].Name != pools[i].Name {
				t.Errorf("pool %d is %s, want %s", i, after.Pools[i].Name, pools[i].Name)
			}
		}
		byName := cmpopts.SortSlices(func(a, b demand.PoolDemand) bool { return a.Name < b.Name })
		if diff := cmp.Diff(before, after, byName); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPoolFiguresAddUp(t *testing.T) {
	forRandomPools(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		checkPoolFigures(t, demandtest.ComputePools(s, pools), pools)
	})
}

// checkPoolFigures checks that the figures of each pool agree with each other and with the bounds of the pool.
func checkPoolFigures(t *testing.T, d demand.Demand, pools []demand.Pool) {
	t.Helper()
	for i, p := range d.Pools {
		most := max(pools[i].Max, p.Busy)
		if p.Required < p.Busy || (pools[i].Max > 0 &&
			(p.Required > most || p.Required < min(pools[i].Min, most))) {
			t.Errorf("Required is out of bounds: %+v of %+v", p, pools[i])
		}
		if p.Claimed > p.Idle+p.Booting || p.Grace > p.Idle || p.Replacements > p.Unusable ||
			p.Replacements > pools[i].Replicas {
			t.Errorf("the numbers exceed the existing nodes: %+v of %+v", p, pools[i])
		}
		if working := p.Busy + max(p.Claimed,
			p.Grace) + p.Pending; p.Busy+p.Idle+p.Booting+p.Pending <= most-min(most, p.Off) &&
			p.Required < working && pools[i].Max > 0 { // off nodes can be reserved
			t.Errorf("not all of %d working nodes are required: %+v of %+v", working, p, pools[i])
		}
		var jobs uint64
		for _, n := range p.ByClass {
			jobs += n
		}
		if jobs != p.PendingJobs || p.EligiblePendingJobs > p.ByClass[pending.ClassCapacity] {
			t.Errorf("jobs do not add up: %+v", p)
		}
		if (p.OldestPending > 0) != (jobs > 0) || (p.OldestEligible > 0) != (p.EligiblePendingJobs > 0) {
			t.Errorf("oldest jobs: %+v", p)
		}
	}
}

// isMarked reports whether a pool's feature is the first of the node's.
func isMarked(n *slurm.Node, pools []demand.Pool) bool {
	return slices.ContainsFunc(pools, func(p demand.Pool) bool {
		return slices.Index(n.Features, p.Feature) == 0 || slices.Index(n.ActiveFeatures, p.Feature) == 0
	})
}

func TestEveryNodeRecordIsInOnePoolAtMost(t *testing.T) {
	forRandomPools(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		var counted, owned uint64
		for _, p := range demandtest.ComputePools(s, pools).Pools {
			counted += p.Busy + p.Idle + p.Booting + p.Unusable + p.Off
		}
		for _, n := range s.Nodes.Value {
			if isMarked(n, pools) {
				owned++
			}
		}
		if counted != owned {
			t.Errorf("%d nodes are counted, %d have a pool's feature first", counted, owned)
		}
	})
}

// TestNoJobRequestsNodesInTwoPools compares the pools with the queue: an eligible job belongs to
// one pool, and requests at most one node per chunk.
func TestNoJobRequestsNodesInTwoPools(t *testing.T) {
	forRandomPools(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		checkJobsRequestOnce(t, s, demandtest.ComputePools(s, pools))
	})
}

func checkJobsRequestOnce(t *testing.T, s *slurmclient.Snapshot, d demand.Demand) {
	t.Helper()
	var eligible, asked, capacity, parts uint64
	for _, p := range d.Pools {
		eligible += p.EligiblePendingJobs
		asked += p.Pending + p.Claimed
	}
	for _, j := range s.Jobs.Value {
		if j.State.Base != slurm.JobPending {
			continue
		}
		n, _ := pending.CountTasks(j)
		capacity += n
		parts += n * max(j.NodeCount.Or(1), j.Tasks.Or(1), uint64(len(strings.Split(j.RequiredNodes(), ","))))
	}
	if eligible > capacity || asked > parts {
		t.Errorf("%d jobs of %d request %d nodes for %d chunks", eligible, capacity, asked, parts)
	}
}

func TestAnIneligibleJobChangesNoNodeOfAPool(t *testing.T) {
	forRandomPools(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		ineligible := func(j *slurm.Job) bool {
			class := pending.Classify(demandtest.Noon, j)
			return j.State.Base == slurm.JobPending && j.HetJobID == 0 && j.ArrayJobID == 0 &&
				class != pending.ClassCapacity
		}
		before := demandtest.ComputePools(s, pools)
		s.Jobs.Value = slices.DeleteFunc(s.Jobs.Value, ineligible)
		after := demandtest.ComputePools(s, pools)
		for i := range pools {
			if diff := cmp.Diff(demandtest.FiguresOf(before.Pools[i]),
				demandtest.FiguresOf(after.Pools[i])); diff != "" {
				t.Error(pools[i].Name, diff)
			}
		}
	})
}

// ownPools gives every partition nodes of one pool only, and every node one partition, so that
// partitions and pools have the same nodes.
func ownPools(s *slurmclient.Snapshot, r *rand.Rand) []demand.Pool {
	var pools []demand.Pool
	for _, p := range s.Partitions.Value {
		pools = append(pools, demand.Pool{Name: p.Name, Feature: "pool-" + p.Name, Partitions: []string{p.Name},
			Max: pickOne[uint64](r, 0, 3, 9), Replicas: r.Uint64N(9)})
	}
	for _, n := range s.Nodes.Value {
		n.Partitions = n.Partitions[:1]
		n.Features = append([]string{"pool-" + n.Partitions[0]}, n.Features...)
	}
	return pools
}

func TestPoolsRequestAsManyNodesAsTheirPartitions(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		pools := ownPools(s, r)
		d := demandtest.ComputePools(s, pools)
		for i, p := range d.Pools {
			part, _ := d.Partition(pools[i].Name)
			if p.Pending != part.PendingNodes {
				t.Errorf("pool %s requests %d nodes, the partition %d", p.Name, p.Pending, part.PendingNodes)
			}
			if p.PendingJobs != part.PendingJobs || p.OldestPending != part.OldestPending || p.Inexact != part.Inexact {
				t.Errorf("pool %+v\nhas other jobs than partition %+v", p, part)
			}
			if got, want := [...]uint64{p.Busy, p.Idle, p.Booting, p.Unusable, p.Off},
				[...]uint64{part.BusyNodes, part.IdleNodes, part.BootingNodes, part.UnusableNodes,
					part.OffNodes}; got != want {
				t.Errorf("pool %s has nodes %v, the partition %v", p.Name, got, want)
			}
		}
	})
}
