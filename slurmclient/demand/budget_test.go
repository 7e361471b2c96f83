package demand_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestJobsBeyondTheBudget computes the demand of a few jobs exactly, and with a budget of no step.
func TestJobsBeyondTheBudget(t *testing.T) {
	type figures struct{ pending, required, eligible, beyond uint64 }
	jobOf := func(id uint32, cpus uint64) *slurm.Job {
		return demandtest.NewJob(id, demandtest.OnNodes(1), demandtest.WithTasks(1), demandtest.WithChange(func(j *slurm.Job) {
			j.CPUs, j.Priority = slurm.Num(cpus), slurm.Num(uint64(100-id))
			j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(cpus) })
			j.MemoryPerNode = slurm.Num(uint64(id)) // no two are alike
		}))
	}
	needing := func(feature string) *slurm.Job { return demandtest.NewJob(1, demandtest.WithConstraint(feature)) }
	many := []any{needing("p17")}
	ofMany := map[string]figures{}
	for i := range 18 { // two more than are tried
		name := fmt.Sprintf("p%02d", i)
		many, ofMany[name] = append(many, demandtest.NewPool(name)), figures{beyond: 1}
	}
	ofMany["p00"] = figures{1, 1, 1, 1}
	for _, tc := range []struct {
		name        string
		nouns       []any
		exact, want map[string]figures
	}{
		{"alike jobs share new nodes", []any{demandtest.NewPool("w"), demandtest.NewJobs(1, 6)},
			map[string]figures{"w": {2, 2, 6, 0}}, map[string]figures{"w": {2, 2, 6, 6}}},
		{"a job shares the last new node", []any{demandtest.NewPool("w"), jobOf(1, 3), jobOf(2, 2), jobOf(3, 1)},
			map[string]figures{"w": {2, 2, 3, 0}}, map[string]figures{"w": {2, 2, 3, 3}}},
		{"a job does not share an earlier new node", []any{demandtest.NewPool("w"), jobOf(1, 2), jobOf(2, 3), jobOf(3, 2)},
			map[string]figures{"w": {2, 2, 3, 0}}, map[string]figures{"w": {3, 3, 3, 3}}},
		{"no more than the maximum is required",
			[]any{demandtest.NewPool("w", demandtest.WithBounds(0, 2)), jobOf(1, 2), jobOf(2, 3), jobOf(3, 2)},
			map[string]figures{"w": {2, 2, 3, 0}}, map[string]figures{"w": {3, 2, 3, 3}}},
		{"jobs move on to a pool that can add nodes",
			[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 1)), demandtest.NewPool("b"), jobOf(1, 3), jobOf(2, 4)},
			map[string]figures{"a": {1, 1, 1, 0}, "b": {1, 1, 1, 0}}, map[string]figures{"a": {1, 1, 1, 2}, "b": {1, 1, 1, 2}}},
		{"all existing workers stay",
			[]any{demandtest.NewPool("w"), demandtest.NewWorker("w-0"), demandtest.NewWorker("w-1"), demandtest.NewWorker("w-2"), jobOf(1, 1)},
			map[string]figures{"w": {0, 1, 1, 0}}, map[string]figures{"w": {0, 3, 1, 1}}},
		{"workers do not stay for jobs that no worker could run",
			[]any{demandtest.NewPool("w"), demandtest.NewWorker("w-0"), jobOf(1, 9)},
			map[string]figures{"w": {}}, map[string]figures{"w": {beyond: 1}}},
		{"a job that fits on none of the pools that are tried gets a node of the first", many,
			map[string]figures{"p17": {1, 1, 1, 0}}, ofMany},
		{"a job that names a worker gets it", []any{demandtest.NewPool("w", func(p *demand.Pool) { p.WorkerPrefix = "w-" }),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "w-3" }))},
			map[string]figures{"w": {1, 4, 1, 0}}, map[string]figures{"w": {1, 4, 1, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(t, append(tc.nouns, demandtest.NewPartition("cpu"))...)
			figuresOf := func(d demand.Demand) map[string]figures {
				out := map[string]figures{}
				for _, p := range d.Pools {
					f := figures{p.Pending, p.Required, p.EligiblePendingJobs, p.Unmodelled[demand.DeviationBudget]}
					if f != (figures{}) || len(d.Pools) == 1 {
						out[p.Name] = f
					}
				}
				return out
			}
			if diff := cmp.Diff(tc.exact, figuresOf(demandtest.ComputePools(s, pools)), cmp.AllowUnexported(figures{})); diff != "" {
				t.Errorf("within the budget: %s", diff)
			}
			if diff := cmp.Diff(tc.want, figuresOf(computeWithin(0, s, pools)), cmp.AllowUnexported(figures{})); diff != "" {
				t.Errorf("beyond the budget: %s", diff)
			}
		})
	}
}

func TestUnsatisfiableJobsBeyondTheBudgetHaveAReason(t *testing.T) {
	s, pools := demandtest.SplitPools(t, demandtest.NewPool("w"), demandtest.NewPartition("cpu"), demandtest.NewJob(7,
		demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) })))
	want := []demand.Unsatisfiable{{Reason: "no node has the memory", Jobs: 1, JobID: 7}}
	if diff := cmp.Diff(want, computeWithin(0, s, pools).Pools[0].Unsatisfiable); diff != "" {
		t.Error(diff)
	}
}

func TestACanceledComputationHasNoResult(t *testing.T) {
	s, pools := largeSnapshot(), poolsOfPartitions()
	for i, j := range s.Jobs.Value {
		j.MemoryPerCPU = slurm.Num(uint64(1000 + i))
	}
	for _, wait := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		begin := time.Now()
		d, err := demand.ComputeContext(ctx, time.Unix(1_000_000, 0), s, pools...)
		cancel()
		t.Logf("canceled after %s, returned after %s", wait, time.Since(begin))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled after %s: %v", wait, err)
		}
		if diff := cmp.Diff(demand.Demand{}, d); diff != "" {
			t.Errorf("canceled after %s: %s", wait, diff)
		}
	}
}

func TestComputeContextReturnsWhatComputeReturns(t *testing.T) {
	s, pools := demandtest.SplitPools(t, demandtest.NewPool("w"), demandtest.NewPartition("cpu"), demandtest.NewJobs(1, 6))
	got, err := demand.ComputeContext(t.Context(), demandtest.Noon.Time(), s, pools...)
	if diff := cmp.Diff(demandtest.ComputePools(s, pools), got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
