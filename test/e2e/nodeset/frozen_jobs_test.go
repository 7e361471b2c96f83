//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testUnkillableTask: a process of a cancelled job does not end.
func testUnkillableTask(t *testing.T, s *nodeset.Env) {
	if s.Values.Version != "24.11" {
		t.Skip("Slurm of this release lets the job complete without end, and does not drain its node (docs/development/slurm.md)")
	}
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "stuck", Replicas: 1})
	job, thaw := c.startFrozenJob("stuck-0")
	runScript(t, s, "scancel "+job)
	c.awaitDrained("stuck-0", "Kill task failed")
	must(t, thaw())
	c.expectReplacementInService("Kill task failed")
	c.deleteAndWait()
}

// testDuplicateJobID: slurmctld comes back with a state from before a job, and gives the job's id to the next job. The
// first job does not end.
func testDuplicateJobID(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "twice", Replicas: 1})
	runScript(t, s, "scontrol reconfigure; sleep 6; rm -rf /out/saved; cp -a /var/spool/slurmctld /out/saved")
	job, thaw := c.startFrozenJob("twice-0")
	runScript(t, s, "mv /out/saved /out/restored-state")
	must(t, s.SignalSlurmctld(t.Context(), syscall.SIGKILL))
	c.await("slurmctld has the older state", func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "sh", "-c", "scontrol ping && ! scontrol show job "+job)
		return err == nil, fmt.Sprint(out, err)
	})
	if again := sbatch(t, s, "-J", "twice", "-p", "all", "-w", "twice-0", "--wrap", "true"); again != job {
		t.Fatalf("the second job is %s, not %s again", again, job)
	}
	c.awaitDrained("twice-0", "Duplicate jobid")
	must(t, thaw())
	runScript(t, s, "scancel "+job)
	c.expectReplacementInService("Duplicate jobid")
	c.deleteAndWait()
}

// startFrozenJob starts a job on a worker that does not end, until its process is thawed.
func (c nodeSetEnv) startFrozenJob(slurmNode string) (job string, thaw func() error) {
	c.t.Helper()
	if why := nodeset.MissingFreezer(); why != "" {
		c.t.Skip(why)
	}
	job = sbatch(c.t, c.Env, "-J", "frozen", "-p", "all", "-w", slurmNode, "--wrap", "exec tail -f /dev/null")
	c.awaitRunning(job)
	worker := c.mustWorkers()[slurmNode]
	c.await("its process is frozen", func(context.Context) (bool, string) {
		var err error
		thaw, err = worker.FreezeProgram("tail")
		return err == nil, fmt.Sprint(err)
	})
	c.t.Cleanup(func() { _ = thaw() })
	return job, thaw
}
