package demand_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
)

// forSmallBudgets runs a check on random clusters and pools. The work budget ends at any point of the computation.
func forSmallBudgets(t *testing.T, check func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int)) {
	t.Helper()
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		check(t, r, s, pools, r.IntN(1+countSteps(s, pools)))
	})
}

// countSteps returns how many steps the computation takes.
func countSteps(s *slurmclient.Snapshot, pools []demand.Pool) int {
	_, left := demand.ComputeWithin(demand.MaxSteps, demandtest.Noon.Time(), s, pools...)
	return demand.MaxSteps - left
}

func computeWithin(steps int, s *slurmclient.Snapshot, pools []demand.Pool) demand.Demand {
	d, _ := demand.ComputeWithin(steps, demandtest.Noon.Time(), s, pools...)
	return d
}

// jobsBeyondBudget returns how many jobs are beyond the budget, counted in each pool.
func jobsBeyondBudget(d demand.Demand) (jobs uint64) {
	for _, p := range d.Pools {
		jobs += p.Unmodelled[demand.DeviationBudget]
	}
	return jobs
}

func TestAnEstimateWithinItsBudgetIsExact(t *testing.T) {
	forRandomPools(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		want := demandtest.ComputePools(s, pools)
		if jobs := jobsBeyondBudget(want); jobs > 0 {
			t.Errorf("%d jobs are beyond the budget", jobs)
		}
		if diff := cmp.Diff(want, computeWithin(countSteps(s, pools), s, pools)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestFiguresAddUpBeyondTheBudget(t *testing.T) {
	beyond := 0
	forSmallBudgets(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int) {
		d := computeWithin(steps, s, pools)
		checkPoolFigures(t, d, pools)
		checkJobsRequestOnce(t, s, d)
		for _, p := range d.Partitions {
			checkSums(t, s, p)
		}
		for _, p := range d.Pools {
			if p.Unmodelled[demand.DeviationBudget] > p.PendingJobs {
				t.Errorf("more jobs are beyond the budget than pending: %+v", p)
			}
		}
		if jobsBeyondBudget(d) > 0 {
			beyond++
		}
	})
	if beyond < clusterCount/3 {
		t.Errorf("only %d clusters had jobs beyond the budget", beyond)
	}
}

func TestTheOrderOfTheInputChangesNothingBeyondTheBudget(t *testing.T) {
	forSmallBudgets(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int) {
		before := computeWithin(steps, s, pools)
		r.Shuffle(len(s.Nodes.Value), func(i, j int) { swapItems(s.Nodes.Value, i, j) })
		r.Shuffle(len(s.Jobs.Value), func(i, j int) { swapItems(s.Jobs.Value, i, j) })
		pools = slices.Clone(pools)
		r.Shuffle(len(pools), func(i, j int) { swapItems(pools, i, j) })
		byName := cmpopts.SortSlices(func(a, b demand.PoolDemand) bool { return a.Name < b.Name })
		if diff := cmp.Diff(before, computeWithin(steps, s, pools), byName); diff != "" {
			t.Error(diff)
		}
	})
}

// The budget removes no existing worker that is or could be needed, and no eligible job is lost.
func TestTheBudgetRemovesNoWorkerAndLosesNoJob(t *testing.T) {
	less, pending := 0, 0
	forSmallBudgets(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int) {
		exact, got := demandtest.ComputePools(s, pools), computeWithin(steps, s, pools)
		var want, sum uint64
		for i, p := range got.Pools {
			e := exact.Pools[i]
			if there := p.Busy + p.Idle + p.Booting; p.Required < min(e.Required, there) {
				t.Errorf("Required falls: %+v\nwithout a budget: %+v", p, e)
			}
			want, sum = want+e.Required, sum+p.Required
		}
		for i, p := range got.Partitions {
			if p.EligiblePendingJobs < exact.Partitions[i].EligiblePendingJobs {
				t.Errorf("%d eligible jobs of %d in %s", p.EligiblePendingJobs, exact.Partitions[i].EligiblePendingJobs, p.Name)
			}
		}
		if want > 0 {
			pending++
		}
		if sum < want {
			less++
		}
	})
	t.Logf("fewer workers are required in %d of %d clusters", less, pending)
	if less*50 > pending {
		t.Errorf("fewer workers are required in %d of %d clusters", less, pending)
	}
}

func TestOneMoreIdleWorkerNeverRaisesPendingNodesBeyondTheBudget(t *testing.T) {
	compared := 0
	forSmallBudgets(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int) {
		before := computeWithin(steps, s, pools)
		if !addIdleWorker(r, s, pools) {
			return
		}
		compared++
		for i, after := range computeWithin(steps, s, pools).Pools {
			if p := before.Pools[i]; after.Busy+after.Pending > p.Busy+p.Pending {
				t.Errorf("pool %s: %+v\nwith one more idle worker: %+v", p.Name, p, after)
			}
		}
	})
	if compared < clusterCount/3 {
		t.Errorf("only %d clusters were compared", compared)
	}
}

func TestAHigherMaximumNeverLowersRequiredBeyondTheBudget(t *testing.T) {
	raised := 0
	forSmallBudgets(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool, steps int) {
		if len(pools) == 0 {
			return
		}
		at := r.IntN(len(pools))
		if pools[at].Max == 0 {
			return
		}
		before := computeWithin(steps, s, pools).Pools[at]
		pools[at].Max += 1 + r.Uint64N(4)
		after := computeWithin(steps, s, pools).Pools[at]
		if after.Required < before.Required {
			t.Errorf("%+v\nwith a higher maximum: %+v", before, after)
		}
		if after.Required > before.Required {
			raised++
		}
	})
	if raised < 100 {
		t.Errorf("Required was raised in only %d clusters", raised)
	}
}
