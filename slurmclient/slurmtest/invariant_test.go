package slurmtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// changeAtRandom makes one random change.
func changeAtRandom(t *testing.T, c *slurmtest.Cluster, rnd *rand.Rand) {
	t.Helper()
	node := fmt.Sprintf("n%d", 1+rnd.IntN(6))
	job := fmt.Sprint(1 + rnd.IntN(1+len(c.Jobs())))
	q := slurm.JobRequest{Tasks: uint32(1 + rnd.IntN(6)), MemoryPerCPU: slurm.Num(uint64(100 * (1 + rnd.IntN(5))))}
	run := time.Duration(rnd.IntN(90)) * time.Second
	switch rnd.IntN(16) {
	case 0:
		_ = c.UpdateNode(node, "DRAIN", "chaos")
	case 1:
		_ = c.UpdateNode(node, "RESUME", "")
	case 2:
		_ = c.UpdateNode(node, "DOWN", "chaos")
	case 3:
		_ = c.Cancel(job)
	case 4:
		_ = c.Hold(job)
	case 5:
		_ = c.Release(job)
	case 6:
		_ = c.Requeue(job)
	case 7:
		_ = c.Suspend(job)
	case 8:
		_ = c.Unsuspend(job)
	case 9:
		q.Array = "0-4%2"
		_, _ = c.Submit(slurmtest.JobSpec{JobRequest: q, RunFor: run})
	case 10:
		q.TRESPerNode, q.Licenses = "gres/gpu:2", "matlab:1"
		_, _ = c.Submit(slurmtest.JobSpec{JobRequest: q, RunFor: run})
	case 11:
		_, _ = c.Submit(slurmtest.JobSpec{JobRequest: q, RunFor: run, Components: []slurmtest.JobSpec{{RunFor: run}}})
	case 12:
		q.Exclusive = true
		_, _ = c.Submit(slurmtest.JobSpec{JobRequest: q, RunFor: run})
	case 13:
		c.Step(time.Duration(rnd.IntN(40)) * time.Second)
	default:
		_, _ = c.Submit(slurmtest.JobSpec{JobRequest: q, RunFor: run})
		c.Step(time.Second)
	}
}

// TestNodesAreNeverOverallocated compares the nodes' allocation with their jobs after random
// changes.
func TestNodesAreNeverOverallocated(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		c := slurmtest.New(slurmtest.Config{Now: testClock,
			Licenses: []slurmtest.LicenseConf{{Name: "matlab", Total: 2}},
			Nodes: []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 8, MemoryMiB: 4000},
				{Names: "n[5-6]", CPUs: 8, MemoryMiB: 4000, GRES: "gpu:h100:4"}}})
		rnd := rand.New(rand.NewPCG(seed, 0))
		for i := range 300 {
			changeAtRandom(t, c, rnd)
			if problem := findInconsistency(c); problem != "" {
				t.Fatalf("seed %d, step %d: %s", seed, i, problem)
			}
		}
		for _, n := range c.Nodes() {
			_ = c.UpdateNode(n.Name, "RESUME", "")
		}
		for _, j := range c.Jobs() {
			_ = c.Cancel(fmt.Sprint(j.ID))
		}
		c.Step(10 * time.Minute)
		for _, n := range c.Nodes() {
			if n.AllocCPUs != 0 || n.AllocMemoryMiB != 0 || n.State.String() != "IDLE" {
				t.Errorf("seed %d: %s is %v with %d CPUs allocated at the end", seed, n.Name, n.State, n.AllocCPUs)
			}
		}
		if n := len(c.Jobs()); n != 0 {
			t.Errorf("seed %d: %d jobs at the end", seed, n)
		}
	}
}

// findInconsistency describes the first inconsistency between jobs and nodes; "" means none.
func findInconsistency(c *slurmtest.Cluster) string {
	held := map[string]uint64{}
	for _, j := range c.Jobs() {
		holds := j.State.Base == slurm.JobRunning || j.State.Base == slurm.JobSuspended ||
			j.State.Has(slurm.JobCompleting)
		if holds && j.Nodes == "" {
			return fmt.Sprintf("job %d is %v without nodes", j.ID, j.State)
		}
		if !holds {
			continue
		}
		names, err := hostlist.Expand(j.Nodes)
		if err != nil {
			return err.Error()
		}
		for _, name := range names {
			held[name] += j.CPUs.Or(0) / uint64(len(names))
		}
	}
	for _, n := range c.Nodes() {
		switch {
		case n.AllocCPUs > n.CPUs || n.AllocMemoryMiB > n.MemoryMiB:
			return fmt.Sprintf("%s has %d CPUs and %d MiB allocated, more than it has", n.Name, n.AllocCPUs,
				n.AllocMemoryMiB)
		case n.AllocCPUs+n.IdleCPUs != n.CPUs:
			return fmt.Sprintf("%s: %d allocated and %d idle CPUs do not add up", n.Name, n.AllocCPUs, n.IdleCPUs)
		case held[n.Name] == 0 && n.AllocCPUs != 0, held[n.Name] != 0 && n.AllocCPUs == 0:
			return fmt.Sprintf("%s has %d CPUs allocated, its jobs use %d", n.Name, n.AllocCPUs, held[n.Name])
		}
	}
	return ""
}
