//go:build e2e

package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testUpgrade gives a cluster of Slurm 24.11 the images of 26.05 while a job runs, slurmdbd first, then slurmctld and
// slurmrestd. The worker and the login pods are of 24.11 still. A way back is refused, and changes nothing.
func (e *env) testUpgrade() {
	job := e.submit("--wrap", "sleep 600")
	e.awaitState(job, "RUNNING")
	begin := time.Now()
	e.setImage("accounting", "slurmdbd", "slurmdbd:26.05")
	e.awaitRelease("slurm-accounting-0", "slurmdbd", "26.05")
	e.kubectl("wait", "accounting/slurm", "--for=condition=Ready", "--timeout=180s")
	e.Logf("slurmdbd is of 26.05 after %.1f s", time.Since(begin).Seconds())
	e.awaitRecord(e.submit("--wrap=true"))

	begin = time.Now()
	e.setImage("controller", "slurmctld", "slurmd:26.05")
	e.awaitRelease(e.ctld, "slurmctld", "26.05")
	e.awaitState(job, "RUNNING")
	e.Logf("slurmctld is of 26.05 after %.1f s", time.Since(begin).Seconds())
	e.slurm("test", "-s", "/var/spool/slurmctld/backup-24.11/job_state")
	e.setImage("restapi", "slurmrestd", "slurmd:26.05")
	e.awaitRecord(e.submit("--wrap=true"))
	process.Await(e.T, func() error { // login pods and the worker are of 24.11
		_, err := e.ssh(e.Context(), "cd / && sbatch --parsable -o /dev/null --wrap true")
		return err
	})

	e.setImage("controller", "slurmctld", "slurmd:24.11")
	e.awaitCondition("ConfigApplied", "was written by Slurm 26.05, and slurmctld is 24.11")
	begin = time.Now()
	e.setImage("controller", "slurmctld", "slurmd:26.05")
	// A StatefulSet does not replace a pod that is not ready (kubernetes/kubernetes#67250).
	e.kubectl("delete", "pod", e.ctld)
	e.awaitRelease(e.ctld, "slurmctld", "26.05")
	e.awaitState(job, "RUNNING")
	e.Logf("the way back was refused; slurmctld of 26.05 answers again after %.1f s", time.Since(begin).Seconds())
	e.slurm("scancel", job)
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
}

// setImage sets the image of a daemon's container.
func (e *env) setImage(kind, container, image string) {
	e.Helper()
	e.kubectl("patch", kind, "slurm", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{%q:{"image":"localhost/%s"}}}`, container, image))
}

// awaitRelease waits until the daemon in a pod is of a release.
func (e *env) awaitRelease(pod, daemon, release string) {
	e.Helper()
	process.Await(e.T, func() error {
		out, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", pod, "-c", daemon, "--", daemon, "-V")
		if err == nil && !strings.Contains(out, " "+release+".") {
			err = fmt.Errorf("%s is %q", daemon, out)
		}
		return err
	})
}
