//go:build e2e

package cluster

import (
	"errors"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testDeletedClaim deletes the claim with slurmctld's state while a job runs. Kubernetes creates an empty claim, and a slurmctld that
// starts with it would end the job. slurmctld starts only after the test has restored the state.
func (e *env) testDeletedClaim(version string) {
	job := e.submit("--wrap", "sleep 3600")
	e.awaitState(job, "RUNNING")
	const claim = "statesave-slurm-controller-0"
	before := e.kubectl("get", "pvc", claim, "-o", "jsonpath={.metadata.uid}")
	e.slurm("mkdir", slurmconf.StateDir+"/empty")
	e.applyFiles(version, "empty_volume.yaml")
	e.kubectl("delete", "pvc", claim, "--wait=false")
	e.kubectl("delete", "pod", "slurm-controller-0")
	process.Await(e.T, func() error {
		condition := e.condition("ConfigApplied")
		if !strings.Contains(condition, "had its state, with all jobs, in claim "+claim) {
			return errors.New(condition)
		}
		return nil
	})
	if before == e.kubectl("get", "pvc", claim, "-o", "jsonpath={.metadata.uid}") {
		e.Fatal("the claim is still the same")
	}
	worker := e.kubectl("get", "pods", "--selector=app.kubernetes.io/name=slurmd", "--field-selector=status.phase=Running", "-o",
		"jsonpath={.items[0].metadata.name}")
	if shown := e.kubectl("exec", worker, "-c", "slurmd", "--", "sh", "-c", "cat /proc/[0-9]*/comm"); !strings.Contains(shown, "sleep") {
		e.Errorf("the job does not run any more; the processes are %s", shown)
	}
	e.applyFiles(version, "restore.yaml")
	e.awaitCondition("ConfigApplied", "True Applied")
	e.awaitState(job, "RUNNING")
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.awaitState(job, "RUNNING")
}
