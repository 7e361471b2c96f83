//go:build e2e

package nodeset_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

var freshRounds = flag.Int("fresh", 0,
	"how many times workers are started again under waiting jobs, on 24.11; 0 skips the test")

// TestTheFirstJobsOfFreshWorkers repeatedly lets jobs wait without workers, so each worker gets its first job at the
// moment of its registration. If a job does not end well, the test logs what slurmd and slurmctld logged about it.
func TestTheFirstJobsOfFreshWorkers(t *testing.T) {
	if *freshRounds == 0 {
		t.Skip("it is played with -fresh=12")
	}
	s := startEnv(t, releases[1])
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: "fresh", ExtraConf: "CPUs=2 RealMemory=500"}, 2 * time.Minute}
	must(t, s.Apply(t.Context(), c.spec))
	awaitSubmittable(t, s, c.spec.Name)
	for round := range *freshRounds {
		name := fmt.Sprint("first-", round)
		sbatch(t, s, "-J", name, "-p", "all", "-C", "fresh", "--array=1-4", "--exclusive", "--wrap",
			"srun hostname; sleep 1")
		sbatch(t, s, "-J", name, "-p", "all", "-C", "fresh", "-N2", "--exclusive", "--wrap", "srun hostname")
		must(t, s.Scale(t.Context(), c.spec.Name, 4))
		var jobs map[string]string
		c.await("jobs of round "+name+" are over", func(ctx context.Context) (bool, string) {
			var err error
			jobs, err = s.Jobs(ctx, name)
			over := func(state string) bool { return state != "PENDING" && state != "RUNNING" && state != "COMPLETING" }
			return err == nil && len(jobs) == 5 &&
					!slices.ContainsFunc(slices.Collect(maps.Values(jobs)), func(s string) bool { return !over(s) }),
				fmt.Sprint(jobs, err)
		})
		for id := range jobs {
			if job, err := s.Job(t.Context(), id); err != nil || !job.CompletedOnce() {
				slurmd, _ := s.Kube.Kubectl(t.Context(), "--namespace", s.Values.Namespace, "logs",
					"--selector=app.kubernetes.io/instance="+c.spec.Name, "--prefix", "--tail=-1")
				t.Errorf("round %d: job %s is %v %v\n%s", round, id, job, err, slurmd)
			}
		}
		must(t, s.Scale(t.Context(), c.spec.Name, 0))
		c.awaitWorkers()
	}
	c.deleteAndWait()
}
