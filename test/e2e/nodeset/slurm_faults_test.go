//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// faultPrograms are lines of slurm.conf and their scripts, which fail on a worker while the file /out/SCRIPT-WORKER exists.
const faultPrograms = `cd /out
cp /etc/slurm/slurm.conf /tmp/slurm.conf.before
printf '#!/bin/sh\ntest ! -e /out/epilog-$SLURMD_NODENAME\n' >epilog.sh
cat >health.sh <<'END'
#!/bin/sh
test ! -e /out/health-$SLURMD_NODENAME || scontrol update nodename=$SLURMD_NODENAME state=drain reason='` + healthReason + `'
END
chmod 755 *.sh
cat >>/etc/slurm/slurm.conf <<'END'
Epilog=/out/epilog.sh
HealthCheckProgram=/out/health.sh
HealthCheckInterval=2
END
scontrol reconfigure`

const healthReason = "check_gpu: 3 of 4"

// testSlurmFaults: Slurm and a health check drain workers, and so does an administrator.
func testSlurmFaults(t *testing.T, s *nodeset.Env) {
	runScript(t, s, faultPrograms)
	t.Run("beside each other", func(t *testing.T) { runScenarios(t, s, faultScenarios()) })
	runScript(t, s, "cp /tmp/slurm.conf.before /etc/slurm/slurm.conf; scontrol reconfigure")
}

func faultScenarios() map[string]scenario {
	return map[string]scenario{
		"a failed epilog": faultCase{nodeSet: "epilog", program: "epilog", reason: "Epilog error"}.test,
		"a failed epilog that is kept": faultCase{nodeSet: "keeps", program: "epilog", reason: "Epilog error",
			spec: "  faultDrains: {policy: Keep}", stays: true}.test,
		"a health check": faultCase{nodeSet: "sick", program: "health", reason: healthReason,
			spec: `  faultDrains: {healthCheckReasons: ["check_gpu: *"]}`}.test,
		"an administrator": faultCase{nodeSet: "byhand", reason: adminReason, stays: true}.test,
	}
}

// faultCase is a way in which a worker is drained, and what becomes of the drain once the worker is gone.
type faultCase struct {
	nodeSet, spec string
	// program is the one that fails on the worker. With none an administrator drains it.
	program, reason string
	// stays: the drain outlives the worker.
	stays bool
}

// test drains the one worker of an HPA, which then scales to zero. A job that follows starts one worker and runs.
func (f faultCase) test(t *testing.T, s *nodeset.Env) {
	c := nodeSetEnv{t, s, nodeset.NodeSet{Name: f.nodeSet, Max: 3, ExtraConf: "CPUs=2 RealMemory=500", Spec: f.spec},
		process.Patience}
	must(t, s.Apply(t.Context(), c.spec))
	awaitSubmittable(t, s, f.nodeSet)
	created := c.recordCreations()
	first, next := c.worker(0), c.worker(0)
	f.drainAfterJob(c, first)
	c.awaitWorkers()
	if f.stays {
		next = c.worker(1)
		c.expectNodeHeld(first, f.reason)
	} else {
		c.awaitSlurmState(first, "FUTURE", "")
		c.awaitEvent("Undrained", "slurm node "+first+": the worker that Slurm drained ("+f.reason+") is gone")
	}
	runScript(t, s, "rm -f /out/"+f.program+"-"+first)

	c.awaitCompleted(sbatch(t, s, "-J", f.nodeSet, "-p", "all", "-C", f.nodeSet, "--wrap", "hostname"))
	c.awaitWorkers()
	if want := []string{first, next}; !slices.Equal(created(), want) {
		t.Errorf("%v were created, want %v", created(), want)
	}
	if f.stays {
		c.expectNodeHeld(first, f.reason)
		runScript(t, s, "scontrol update nodename="+first+" state=resume")
	}
	c.await(first+" is FUTURE", func(ctx context.Context) (bool, string) {
		state, reason, err := c.SlurmNode(ctx, first) // 24.11 may leave the reason
		return err == nil && stableState(state) == "FUTURE", fmt.Sprint(state, " ", reason, err)
	})
	c.kubectl("--namespace", s.Values.Namespace, "delete", "hpa", f.nodeSet)
	c.deleteAndWait()
}

// drainAfterJob has the worker drained while it runs a job, and ends the job.
func (f faultCase) drainAfterJob(c nodeSetEnv, slurmNode string) {
	c.t.Helper()
	job := sbatch(c.t, c.Env, "-J", f.nodeSet, "-p", "all", "-C", f.nodeSet, "--wrap",
		"until test -e /out/over-$SLURM_JOB_ID; do sleep 0.2; done")
	c.awaitRunning(job)
	switch f.program {
	case "":
		runScript(c.t, c.Env, "scontrol update nodename="+slurmNode+" state=drain reason='"+f.reason+"'")
	default:
		runScript(c.t, c.Env, "touch /out/"+f.program+"-"+slurmNode)
	}
	if f.program != "epilog" { // which runs after the job
		c.awaitDrained(slurmNode, f.reason)
	}
	c.finishJob(job)
}
