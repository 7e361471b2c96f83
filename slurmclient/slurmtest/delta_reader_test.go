package slurmtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// newLongQueue returns a cluster with so many held jobs that one poll does not read them all.
func newLongQueue(t *testing.T, jobs int) *slurmtest.Cluster {
	t.Helper()
	c := slurmtest.New(slurmtest.Config{Now: testClock, MinJobAge: 2 * time.Second,
		Nodes: []slurmtest.NodeConf{{Names: "n[1-2]", CPUs: 8, MemoryMiB: 4000}}})
	for range jobs {
		submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
	}
	return c
}

func submitJob(t *testing.T, c *slurmtest.Cluster, change func(*slurmtest.JobSpec)) uint32 {
	t.Helper()
	s := slurmtest.JobSpec{RunFor: time.Hour, User: "alice"}
	s.Tasks = 1
	change(&s)
	return mustSubmit(t, c, s)
}

func refreshedJob(t *testing.T, k *slurmclient.Cache, id uint32) slurm.Job {
	t.Helper()
	must(t, k.Refresh(t.Context(), slurmclient.Jobs))
	j := k.Snapshot().Job(id)
	if j == nil {
		t.Fatalf("job %d is missing", id)
	}
	return *j
}

func TestDeltaReaderSeesAReleasedHoldAtTheNextPoll(t *testing.T) {
	c := newLongQueue(t, 900)
	k := startCache(t, c, "v0.0.44", slurmclient.ReadDelta)
	const id = 700
	if j := refreshedJob(t, k, id); !j.Hold {
		t.Fatal("the job is not held")
	}
	// No node can run it, so its state stays the same.
	must(t, c.UpdateNode("n1", "DOWN", "test"))
	must(t, c.UpdateNode("n2", "DOWN", "test"))
	must(t, c.Release(fmt.Sprint(id)))
	c.Step(2 * time.Second)
	if j := refreshedJob(t, k, id); j.Hold || j.State.Base != slurm.JobPending {
		t.Errorf("after the next poll: held %v, %s, %s", j.Hold, j.State, j.Reason)
	}
	if p := k.Snapshot().Jobs; !p.AsOf().Equal(p.ReadAt) {
		t.Error("every record is current, but AsOf differs from ReadAt")
	}
}

func TestDeltaReaderSeesAFulfilledDependencyAtTheNextPoll(t *testing.T) {
	c := newLongQueue(t, 900)
	first := submitJob(t, c, func(s *slurmtest.JobSpec) { s.RunFor = 10 * time.Second })
	second := submitJob(t, c, func(s *slurmtest.JobSpec) {
		s.Dependency, s.Nodes = fmt.Sprintf("afterok:%d", first),
			2
	})
	c.Step(time.Second)
	k := startCache(t, c, "v0.0.44", slurmclient.ReadDelta)
	if j := refreshedJob(t, k, second); j.Reason != "Dependency" {
		t.Fatalf("the job waits for %s", j.Reason)
	}
	must(t, c.UpdateNode("n2", "DRAIN", "test"))
	c.Step(30 * time.Second)
	if j := refreshedJob(t, k, second); j.Reason == "Dependency" || j.State.Base != slurm.JobPending {
		t.Errorf("after the next poll: %s, reason %s", j.State, j.Reason)
	}
}

func TestDeltaReaderSeesJobsAfterAGapInIDs(t *testing.T) {
	c := newLongQueue(t, 5)
	k := startCache(t, c, "v0.0.44", slurmclient.ReadDelta)
	refreshedJob(t, k, 1)
	near := submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
	for range 3000 {
		gone := submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
		must(t, c.Cancel(fmt.Sprint(gone)))
	}
	c.Step(time.Hour) // purges the cancelled jobs
	far := submitJob(t, c, func(s *slurmtest.JobSpec) { s.Hold = true })
	refreshedJob(t, k, near)
	if k.Snapshot().Job(far) == nil {
		t.Errorf("job %d, submitted after job %d, is missing", far, near)
	}
}
