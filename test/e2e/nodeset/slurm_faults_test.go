//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// faultPrograms are lines of slurm.conf and their scripts, which fail on a worker while the file /out/SCRIPT-WORKER exists.
const faultPrograms = `cd /out
cp /etc/slurm/slurm.conf /tmp/slurm.conf.before
for script in prolog epilog; do
	printf '#!/bin/sh\ntest ! -e /out/%s-$SLURMD_NODENAME\n' $script >$script.sh
done
cat >health.sh <<'END'
#!/bin/sh
test ! -e /out/health-$SLURMD_NODENAME || scontrol update nodename=$SLURMD_NODENAME state=drain reason='` + healthReason + `'
END
chmod 755 *.sh
cat >>/etc/slurm/slurm.conf <<'END'
Prolog=/out/prolog.sh
Epilog=/out/epilog.sh
HealthCheckProgram=/out/health.sh
HealthCheckInterval=2
KillWait=1
UnkillableStepTimeout=25
END
scontrol reconfigure`

const healthReason = "check_gpu: 3 of 4"

// testSlurmFaults: Slurm, a health check and an administrator drain workers.
func testSlurmFaults(t *testing.T, s *nodeset.Env) {
	runScript(t, s, faultPrograms)
	t.Run("beside each other", func(t *testing.T) { runScenarios(t, s, faultScenarios()) })
	runScript(t, s, "cp /tmp/slurm.conf.before /etc/slurm/slurm.conf; scontrol reconfigure")
	t.Run("less than its record has", func(t *testing.T) { testWorkersWithLess(t, s) })
	t.Run("a duplicate job id", func(t *testing.T) { testDuplicateJobID(t, s) })
}

func faultScenarios() map[string]scenario {
	return map[string]scenario{
		"a failed epilog": faultCase{nodeSet: "epilog", program: "epilog", reason: "Epilog error"}.test,
		"a failed epilog that is kept": faultCase{nodeSet: "keeps", program: "epilog", reason: "Epilog error",
			spec: "  faultDrains: {policy: Keep}", stays: true}.test,
		"a health check": faultCase{nodeSet: "sick", program: "health", reason: healthReason,
			spec: `  faultDrains: {healthCheckReasons: ["check_gpu: *"]}`}.test,
		"a health check that is not listed": faultCase{nodeSet: "other", program: "health", reason: healthReason, stays: true}.test,
		"an administrator":                  faultCase{nodeSet: "byhand", reason: adminReason, stays: true}.test,
		"a failed prolog":                   testFailedProlog, "a task that does not end": testUnkillableTask,
		"slurmctld misses a faulty worker": testMissedWorker,
	}
}

// faultCase is a way in which a worker is drained, and the fate of the drain after the worker is gone.
type faultCase struct {
	nodeSet, spec string
	// program fails on the worker. If it is empty, an administrator drains the worker.
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
	first, uses := c.worker(0), 2
	f.drainAfterJob(c, first)
	c.awaitWorkers()
	if f.stays {
		uses = 1
		c.expectNodeHeld(first, f.reason)
	} else {
		c.awaitSlurmState(first, "FUTURE", "")
		c.awaitEvent("Undrained", "slurm node "+first+": the worker that Slurm drained ("+f.reason+") is gone")
	}
	runScript(t, s, "rm -f /out/"+f.program+"-"+first)

	c.awaitCompleted(sbatch(t, s, "-J", f.nodeSet, "-p", "all", "-C", f.nodeSet, "--wrap", "hostname"))
	c.awaitWorkers()
	// If the list of jobs is older than the list of nodes, the HPA may start another worker for some seconds.
	all := created()
	if others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == first }); len(all)-len(others) != uses ||
		len(all) > 3 {
		t.Errorf("%v were created, %s not %d times", all, first, uses)
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

// drainAfterJob lets the worker be drained while it runs a job, and ends the job.
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

// testFailedProlog: the pod of a worker that Slurm drained is replaced.
func testFailedProlog(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "prolog", Replicas: 1})
	runScript(t, s, "touch /out/prolog-prolog-0")
	job, err := s.SubmitJob(t.Context(), "prolog-0", 30)
	must(t, err)
	c.awaitDrained("prolog-0", "Prolog error")
	runScript(t, s, "rm /out/prolog-prolog-0; scancel "+job)
	c.expectReplacementInService("Prolog error")
	c.deleteAndWait()
}

// testMissedWorker: slurmctld drained a worker, and adds to its reason that slurmd no longer responds.
func testMissedWorker(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "missed", Replicas: 1})
	runScript(t, s, "touch /out/epilog-missed-0")
	c.finishJob(c.startJob("missed-0", 30))
	c.awaitDrained("missed-0", "Epilog error")
	runScript(t, s, "rm /out/epilog-missed-0")
	must(t, c.mustWorkers()["missed-0"].SignalSlurmd(syscall.SIGSTOP))
	c.awaitDrained("missed-0", "Epilog error : Not responding")
	c.expectReplacementInService("Epilog error")
	c.deleteAndWait()
}

// expectReplacementInService deletes the pod of the only worker, which Slurm drained for the reason. A new worker takes the name, the only
// allowed one, and its node is in service.
func (c nodeSetEnv) expectReplacementInService(reason string) {
	c.t.Helper()
	name := c.worker(0)
	c.setMaximum("1")
	created := c.recordCreations()
	before := c.mustWorkers()[name]
	c.kubectl("--namespace", c.Values.Namespace, "delete", "pod", name)
	c.await("another pod has the name", func(context.Context) (bool, string) {
		have := c.mustWorkers()[name]
		return have.UID != "" && have.UID != before.UID, fmt.Sprint(have)
	})
	c.awaitSlurmState(name, "IDLE", "")
	c.awaitEvent("Undrained", "("+reason)
	c.finishJob(c.startJob(name, 30))
	if want := []string{name, name}; !slices.Equal(created(), want) {
		c.t.Errorf("there were %v, want %v", created(), want)
	}
}
