package slurmtest_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// startCache runs a cache that polls jobs only on Refresh.
func startCache(t *testing.T, c *slurmtest.Cluster, version string, reader slurmclient.JobsReader) *slurmclient.Cache {
	t.Helper()
	k := slurmclient.NewCache(newClient(t, c, version), slurmclient.CacheConfig{Period: time.Hour, JobsReader: reader,
		Resources: []slurmclient.Resource{slurmclient.Jobs}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return k
}

func sortedByID(jobs []slurm.Job) []slurm.Job {
	slices.SortFunc(jobs, func(a, b slurm.Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}

func cachedJobs(t *testing.T, k *slurmclient.Cache) []slurm.Job {
	t.Helper()
	must(t, k.Refresh(t.Context(), slurmclient.Jobs))
	jobs := []slurm.Job{}
	for _, j := range k.Snapshot().Jobs.Value {
		jobs = append(jobs, *j)
	}
	return sortedByID(jobs)
}

// TestJobReadersMatchTheModelAfterAnyHistory compares what each reader of jobs publishes with the
// model, also after rare events.
func TestJobReadersMatchTheModelAfterAnyHistory(t *testing.T) {
	for seed, v := range []string{"v0.0.42", "v0.0.44"} {
		for _, reader := range []slurmclient.JobsReader{slurmclient.ReadList, slurmclient.ReadDelta} {
			t.Run(fmt.Sprint(v, " ", reader), func(t *testing.T) {
				c := slurmtest.New(slurmtest.Config{Now: testClock, MinJobAge: time.Minute,
					Nodes: []slurmtest.NodeConf{{Names: "n[1-6]", CPUs: 8, MemoryMiB: 4000, GRES: "gpu:h100:4"}}})
				k := startCache(t, c, v, reader)
				rnd := rand.New(rand.NewPCG(uint64(seed), 9))
				for i := range 75 {
					for range rnd.IntN(6) {
						changeAtRandom(t, c, rnd)
					}
					if i%25 == 24 {
						doRareEvent(c, i/25)
					}
					c.Step(2 * time.Second)
					if diff := gocmp.Diff(withoutSchedulerFields(sortedByID(c.Jobs())),
						withoutSchedulerFields(cachedJobs(t, k))); diff != "" {
						t.Fatalf("round %d (-model +%s):\n%s", i, reader, diff)
					}
				}
			})
		}
	}
}

// withoutSchedulerFields clears what changes while a job waits, since the delta reader reads only
// part of a long queue in each poll.
func withoutSchedulerFields(jobs []slurm.Job) []slurm.Job {
	for i := range jobs {
		if jobs[i].State.Base == slurm.JobPending {
			jobs[i].LastSchedEval, jobs[i].Reason = 0, ""
			jobs[i].EditDetails(func(d *slurm.JobDetails) { d.ReasonText, d.Flags = "", "" })
		}
	}
	return jobs
}

// doRareEvent restarts slurmctld, skips job ids, or loses slurmctld's state.
func doRareEvent(c *slurmtest.Cluster, which int) {
	switch which {
	case 0:
		c.Restart()
	case 1:
		c.SetNextJobID(60_000_000)
	default:
		c.ColdStart()
	}
}
