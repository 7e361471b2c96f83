//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// testTakeover loses the active slurmctld of a pair while the operator is down: its pod is killed and cannot be started again, as if its
// node were lost. The backup serves the same state, and workers and slurmrestd follow it. The first one takes over again when it is back.
func testTakeover(t *testing.T, kube *realkube.Cluster) {
	var pairs []*env
	for _, version := range versions {
		if !isTestedWhole(version) {
			continue
		}
		pairs = append(pairs, startSlurm(t, kube, version, "ha.yaml", "token.yaml"))
	}
	if *long {
		for _, e := range pairs {
			e.testSilentKubelet()
		}
		testRotationOfPairs(pairs)
	}
	stopOperator(t, kube)
	for _, e := range pairs {
		e.killActive()
	}
	for _, e := range pairs {
		e.testReturn()
	}
}

// testRotationOfPairs replaces both keys while slurmctlds are in standby; they must have the new keys when they take over later. No call
// fails meanwhile.
func testRotationOfPairs(pairs []*env) {
	var clusters []*rotatedCluster
	for _, e := range pairs {
		clusters = append(clusters, e.startStreams(e.namespace))
	}
	for _, c := range clusters {
		c.requestRotation(slurmKey, "pair")
		c.requestRotation(jwtKey, "pair")
	}
	for _, c := range clusters {
		c.awaitRotated(slurmKey)
		c.awaitRotated(jwtKey)
		c.checkOldTokenIsRefused()
		c.awaitCompleted(c.checkStreams())
		c.await("(backup) at slurm-controller-1 is UP", "scontrol", "ping")
		c.slurm("scancel", c.job)
	}
}

// awaitCompleted waits until jobs have completed. slurmctld must know all of them.
func (e *env) awaitCompleted(jobs []string) {
	e.Helper()
	process.Await(e.T, func() error {
		states := map[string]string{}
		for line := range strings.Lines(e.slurm("squeue", "-h", "-t", "all", "-o", "%i %T")) {
			id, state, _ := strings.Cut(strings.TrimSpace(line), " ")
			states[id] = state
		}
		for _, job := range jobs {
			if states[job] != "COMPLETED" {
				return fmt.Errorf("job %s is %q", job, states[job])
			}
		}
		return nil
	})
	e.Logf("%d jobs have run", len(jobs))
}

// testSilentKubelet stops the kubelet while a job runs, until Kubernetes considers the node lost.
func (e *env) testSilentKubelet() {
	e.Helper()
	job := e.submit("--wrap", "sleep 3600")
	e.awaitState(job, "RUNNING")
	pid := e.slurm("cat", slurmconf.RunDir+"/slurmctld.pid")
	must(e.T, e.kube.Stop(e.Context(), "kubelet"))
	e.kubectl("wait", "node/node", "--for=condition=Ready=Unknown", "--timeout=120s")
	must(e.T, e.kube.Start(e.Context(), "kubelet"))
	begin := time.Now()
	e.kubectl("wait", "node/node", "--for=condition=Ready", "--timeout=120s")
	e.awaitState(job, "RUNNING")
	e.Logf("the kubelet is back: slurmctld answers after %.1f s", time.Since(begin).Seconds())
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.Logf("a job has run after %.1f s", time.Since(begin).Seconds())
	e.slurm("scancel", job)
	if now := e.slurm("cat", slurmconf.RunDir+"/slurmctld.pid"); now != pid {
		e.Errorf("slurmctld was started again: its process was %s, and is %s", pid, now)
	}
	if out := e.slurm("sinfo", "-h", "-R", "-o", "%n %E"); out != "" {
		e.Errorf("nodes are drained or down: %s", out)
	}
}

// killActive kills the active slurmctld of a pair, and checks what the backup does.
func (e *env) killActive() {
	e.Helper()
	ask := e.restdClient()
	job := e.submit("--wrap", "sleep 3600")
	e.awaitState(job, "RUNNING")
	process.Await(e.T, func() error { // slurmctld writes its state at most every five seconds
		_, err := ask(e.Context(), "/slurm/v0.0.42/job/"+job)
		return err
	})
	time.Sleep(stateInterval)
	e.kubectl("cordon", "node")
	defer e.kubectl("uncordon", "node")
	begin := time.Now()
	e.kubectl("delete", "pod", "slurm-controller-0", "--grace-period=0", "--force")
	e.ctld = "slurm-controller-1"
	e.awaitState(job, "RUNNING")
	e.Logf("the active slurmctld is lost: the backup answers after %.1f s", time.Since(begin).Seconds())
	process.Await(e.T, func() error {
		_, err := ask(e.Context(), "/slurm/v0.0.42/job/"+job)
		return err
	})
	e.Logf("slurmrestd answers after %.1f s", time.Since(begin).Seconds())
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.Logf("a job has run after %.1f s", time.Since(begin).Seconds())
	e.awaitState(job, "RUNNING")
}

// testReturn waits until the first slurmctld serves again, and runs a job.
func (e *env) testReturn() {
	e.Helper()
	begin := time.Now()
	e.await("(primary) at slurm-controller-0 is UP", "scontrol", "ping")
	e.ctld = "slurm-controller-0"
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "-n", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--", "sbatch",
			"--parsable", "-D", "/", "-o", "/dev/null", "--wrap", "hostname")
		if err == nil && out == "" {
			err = errors.New("sbatch prints no job")
		}
		return err
	})
	e.Logf("the first slurmctld serves again after %.1f s", time.Since(begin).Seconds())
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
}
