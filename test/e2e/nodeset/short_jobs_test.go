//go:build e2e

package nodeset_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

var manyShortJobs = flag.Int("short-jobs", 0,
	"how many short jobs TestManyShortJobs runs on workers of each release; 0 leaves it out")

// arraySize is how many tasks an array may have by default (slurm.conf(5), MaxArraySize).
const arraySize = 1000

// TestManyShortJobs runs as many short jobs as the flag says on workers of each release.
func TestManyShortJobs(t *testing.T) {
	if *manyShortJobs == 0 {
		t.Skip("run it with -short-jobs=20000")
	}
	for _, of := range releases {
		t.Run(of.version, func(t *testing.T) { runShortJobs(t, startEnv(t, of), *manyShortJobs) })
	}
}

// testShortJobs runs some short jobs: the time they take grows with the load of the machine. A probe that lists steps
// failed one of 800 jobs, which TestManyShortJobs notices.
func testShortJobs(t *testing.T, s *nodeset.Env) { runShortJobs(t, s, 300) }

// runShortJobs runs jobs that end at once, so some batch steps are always starting while the probes of their workers
// run. Every job must complete. slurmd deletes the script of a starting step when a probe lists the steps of its
// worker, or when slurmctld makes it register.
func runShortJobs(t *testing.T, scene *nodeset.Env, jobs int) {
	s, err := scene.StartSteadySlurm(t.Context())
	must(t, err)
	// Submit several jobs at a time, because a job mostly waits for Slurm. With many more, a slow machine has no time for
	// anything else.
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "short", Replicas: 3, ExtraConf: "CPUs=4 RealMemory=1000"})
	c.timeout = 20 * time.Minute
	for first := 0; first < jobs; first += arraySize {
		name, tasks := fmt.Sprint("short-", first), min(arraySize, jobs-first)
		sbatch(t, s, "-J", name, "-p", "all", "-C", "short", "-o", "/dev/null", "--no-requeue",
			fmt.Sprint("--array=1-", tasks), "--wrap", "true")
		c.awaitEnd(name)
		states := map[string]int{}
		ended, err := s.Jobs(t.Context(), name)
		must(t, err)
		for _, state := range ended {
			states[state]++
		}
		if states["COMPLETED"] != tasks || len(ended) != tasks {
			t.Errorf("%d short jobs ended as %v", tasks, states)
		}
	}
	c.deleteAndWait()
}

// awaitEnd waits until no job of the name waits or runs.
func (c nodeSetEnv) awaitEnd(name string) {
	c.t.Helper()
	c.await("jobs "+name+" have ended", func(ctx context.Context) (bool, string) {
		time.Sleep(2 * time.Second) // each look costs more than a job
		left, err := c.Slurm(ctx, "squeue", "--noheader", "--name="+name, "--format=%i %T")
		return err == nil && left == "", fmt.Sprint(left, err)
	})
}
