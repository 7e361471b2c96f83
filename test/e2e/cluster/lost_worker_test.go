//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestLostWorker restarts slurmctld with a state from before a worker registered, while the worker has a job. slurm-agent makes slurmd
// register again once the job has ended, without an administrator. It runs with -long.
func TestLostWorker(t *testing.T) {
	kube := startLong(t, "cluster.yaml")
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			startSlurm(t, kube, version, "cluster.yaml").testLostWorker(version)
		})
	}
}

// longerThanRequests is longer than the delay between a request to register again and slurmd's registration: the kubelet writes the request
// into the pod, and the agent reads it.
const longerThanRequests = 45 * time.Second

// testLostWorker loses the record of a worker with a job. slurmd registers only after the job has ended: slurmctld would end a job that it
// does not know.
func (e *env) testLostWorker(version string) {
	e.loseWorkerWithJob(version)
	worker := e.kubectl("get", "pod", "again-0", "-o", "jsonpath={.metadata.uid}")
	e.awaitField("Slurm lost the records of workers again-0", "nodeset/again",
		`{.status.conditions[?(@.type=="Ready")].message}`)
	e.awaitField(v1beta1.AnnotationRegisterAgain, "pod/again-0", "{.metadata.annotations}")
	time.Sleep(longerThanRequests)
	if state := e.recordState(); !strings.Contains(state, "FUTURE") {
		e.Errorf("slurmd has registered while its job runs: %s", state)
	}

	begin := time.Now()
	e.kubectl("exec", "again-0", "-c", "slurmd", "--", "touch", "/tmp/over")
	e.awaitSuccess("again-0", "slurmd", "test -e /tmp/done")
	e.awaitRecordState("IDLE")
	e.Logf("%s: the worker is in service %.1f s after the end of its job", version, time.Since(begin).Seconds())
	e.awaitState(e.submit("-w", "again-0", "--wrap", "hostname"), "COMPLETED")
	e.awaitField(worker, "pod/again-0", "{.metadata.uid}")
	e.kubectl("delete", "nodeset", "again", "--timeout=180s")
}

// loseWorkerWithJob starts a worker with a job, and brings slurmctld back with a state from before.
func (e *env) loseWorkerWithJob(version string) {
	e.Helper()
	e.applyFiles(version, "again.yaml")
	e.awaitRecordState("FUTURE")
	e.awaitSuccess(e.ctld, "slurmctld", "grep -q again-0 "+slurmconf.StateDir+"/node_state")
	e.slurm("sh", "-ec", "cd "+slurmconf.StateDir+"; mkdir .saved; cp -a * .saved")
	e.kubectl("scale", "nodeset", "again", "--replicas=1")
	e.awaitRecordState("IDLE")
	e.submit("-w", "again-0", "--wrap", "touch /tmp/begun; until test -e /tmp/over; do sleep 0.2; done; touch /tmp/done")
	e.awaitSuccess("again-0", "slurmd", "test -e /tmp/begun")
	e.restoreState()
	e.awaitRecordState("FUTURE")
}

// restoreState kills slurmctld, which starts again with the state that was saved.
func (e *env) restoreState() {
	e.Helper()
	before := e.restarts()
	e.slurm("sh", "-ec", "cd "+slurmconf.StateDir+"; pid=$(cat "+slurmconf.RunDir+"/slurmctld.pid); kill -STOP $pid; "+
		"rm -rf *; cp -a .saved/* .; kill -KILL $pid")
	process.Await(e.T, func() error {
		if e.restarts() == before {
			return errors.New("slurmctld was not started again")
		}
		return nil
	})
}

// recordState returns the state of the worker's Slurm node.
func (e *env) recordState() string {
	out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--",
		"scontrol", "show", "node", "again-0", "--future", "--oneliner")
	_, state, found := strings.Cut(out, " State=")
	if err != nil || !found {
		return fmt.Sprint("unknown: ", out, err)
	}
	return strings.Fields(state)[0]
}

// awaitRecordState waits for the state of the worker's Slurm node.
func (e *env) awaitRecordState(want string) {
	e.Helper()
	process.Await(e.T, func() error {
		if state := e.recordState(); state != want+"+DYNAMIC_NORM" {
			return fmt.Errorf("again-0 is %s, not %s", state, want)
		}
		return nil
	})
}

// awaitField waits until a field of an object contains want.
func (e *env) awaitField(want, object, path string) {
	e.Helper()
	process.Await(e.T, func() error {
		if got := e.kubectl("get", object, "-o", "jsonpath="+path); !strings.Contains(got, want) {
			return fmt.Errorf("%s of %s is %q, not %q", path, object, got, want)
		}
		return nil
	})
}

// awaitSuccess runs a script in a container until it succeeds.
func (e *env) awaitSuccess(pod, container, script string) {
	e.Helper()
	process.Await(e.T, func() error {
		_, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", pod, "-c", container, "--", "sh", "-c", script)
		return err
	})
}
