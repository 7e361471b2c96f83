package slurmtest_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestDemoClusterShowsEveryKindOfState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := slurmtest.NewDemo(time.Now)
		seen := map[string]bool{}
		look := func() {
			for _, j := range c.Jobs() {
				seen["job "+j.State.Base.String()] = true
				seen["reason "+j.Reason] = true
				seen["partition "+j.Partition] = true
				if j.IsArrayBase() {
					seen["array"] = true
				}
			}
			for _, n := range c.Nodes() {
				seen["node "+n.State.Word()] = true
			}
		}
		look()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { c.Run(ctx) })
		for range 60 {
			<-time.After(time.Minute)
			look()
		}
		cancel()
		wg.Wait()
		if late := time.Since(c.Now()); late > 2*time.Second {
			t.Errorf("the model's time is %v behind the clock", late)
		}
		for _, want := range []string{"job RUNNING", "job PENDING", "job COMPLETED", "job FAILED", "job CANCELLED",
			"reason Resources", "reason Priority", "reason JobHeldUser", "reason Dependency", "reason BeginTime",
			"reason JobArrayTaskLimit", "partition cpu", "partition gpu", "partition debug", "array",
			"node drained", "node down", "node mixed", "node allocated"} {
			if !seen[want] {
				t.Errorf("not observed: %s", want)
			}
		}
		if n := len(c.Jobs()); n < 50 || n > 5000 {
			t.Errorf("%d job records after an hour", n)
		}
	})
}

func TestPopulationIsReproducible(t *testing.T) {
	one, two := slurmtest.NewSized(testClock, 100, 1000), slurmtest.NewSized(testClock, 100, 1000)
	if diff := cmp.Diff(one.Jobs(), two.Jobs()); diff != "" {
		t.Error(diff)
	}
	states := map[slurm.JobBase]int{}
	for _, j := range one.Jobs() {
		states[j.State.Base]++
	}
	for _, s := range []slurm.JobBase{slurm.JobRunning, slurm.JobPending, slurm.JobCompleted, slurm.JobFailed,
		slurm.JobCancelled} {
		if states[s] == 0 {
			t.Errorf("no job is %v", s)
		}
	}
}

func TestJobIDsStartAgainAfterTheLargest(t *testing.T) {
	c := smallCluster("")
	c.SetNextJobID(67108862)
	var ids []uint32
	for range 3 {
		ids = append(ids, mustSubmit(t, c, foreverJob(slurm.JobRequest{})))
	}
	if want := []uint32{67108862, 67108863, 1}; !slices.Equal(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

func TestRestartResetsTheCountersAndMarksEverythingChanged(t *testing.T) {
	c := smallCluster("")
	cl := newClient(t, c, "v0.0.45")
	mustSubmit(t, c, foreverJob(slurm.JobRequest{}))
	c.Step(time.Minute)
	before, err := cl.Stats(t.Context())
	must(t, err)
	c.Restart()
	after, err := cl.Stats(t.Context())
	must(t, err)
	if before.JobsSubmitted != 1 || after.JobsSubmitted != 0 || after.Since != slurm.At(c.Now()) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	list, err := cl.Nodes(t.Context(), slurm.At(c.Now()))
	must(t, err)
	if len(list.Items) != 2 {
		t.Errorf("%d nodes after the restart", len(list.Items))
	}
}
