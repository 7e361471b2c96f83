//go:build e2e

package nodeset_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

var chaosSeed = flag.Uint64("seed", 1, "of the moments at which things fail")

// testRandomFaults scales a NodeSet out and in while jobs arrive and faults occur at random moments: the operator is
// killed in its pod, slurmctld is suspended, slurmrestd is unavailable. In the end every job has succeeded on its only
// run, and all objects are gone.
func testRandomFaults(t *testing.T, s *nodeset.Env) {
	t.Logf("the seed is %d", *chaosSeed)
	dice := rand.New(rand.NewPCG(*chaosSeed, 0))
	pause := func(most time.Duration) { time.Sleep(time.Duration(dice.Int64N(int64(most)))) }
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "rough", Replicas: 2, ExtraConf: "CPUs=2 RealMemory=500"},
		process.Patience}
	must(t, s.Apply(t.Context(), c.spec))
	awaitSubmittable(t, s, c.spec.Name)
	var jobs []string
	for round, fault := range []func(){
		func() { must(t, s.KillOperator(t.Context())) },
		func() {
			must(t, s.SignalSlurmctld(t.Context(), syscall.SIGSTOP))
			pause(8 * time.Second)
			must(t, s.SignalSlurmctld(t.Context(), syscall.SIGCONT))
		},
		func() {
			must(t, s.ScaleSlurmrestd(t.Context(), 0))
			pause(5 * time.Second)
			must(t, s.ScaleSlurmrestd(t.Context(), 1))
		},
		func() {
			must(t, s.SignalSlurmctld(t.Context(), syscall.SIGSTOP))
			pause(time.Second)
			must(t, s.KillOperator(t.Context()))
			pause(3 * time.Second)
			must(t, s.SignalSlurmctld(t.Context(), syscall.SIGCONT))
		},
	} {
		must(t, s.Scale(t.Context(), c.spec.Name, 1+dice.IntN(4)))
		for range 3 {
			jobs = append(jobs, sbatch(t, s, "-J", "rough", "-p", "all", "-C", "rough", "--wrap",
				fmt.Sprint("sleep ", 1+dice.IntN(6))))
		}
		pause(4 * time.Second)
		must(t, s.Scale(t.Context(), c.spec.Name, dice.IntN(3)))
		pause(2 * time.Second)
		fault()
		t.Logf("round %d is over", round+1)
	}
	must(t, s.Scale(t.Context(), c.spec.Name, 3))
	for _, id := range jobs {
		c.await("job "+id+" has ended well", func(ctx context.Context) (bool, string) {
			job, err := c.Job(ctx, id)
			return job.CompletedOnce(), fmt.Sprint(job, err)
		})
	}
	must(t, s.Scale(t.Context(), c.spec.Name, 0))
	c.awaitWorkers()
	awaitZero(t, s)
	c.deleteAndWait()
}
