//go:build e2e

package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testUpgrade gives a cluster of Slurm 24.11 the images of 26.05 while a job runs: slurmdbd first, then slurmctld. slurmrestd, whose image
// is set before, follows them. The worker and the login pods still have 24.11; the worker gets its image last. The operator refuses another
// order and a way back before it changes anything.
func (e *env) testUpgrade() {
	job := e.submit("--wrap", "sleep 3600")
	e.awaitState(job, "RUNNING")
	e.testWrongOrder()
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
	begin = time.Now()
	e.awaitReleaseAllowed("restapi", "True Allowed")
	e.awaitStatusRelease("restapi", "26.05")
	e.Logf("slurmrestd followed after %.1f s", time.Since(begin).Seconds())
	e.awaitRecord(e.submit("--wrap=true"))
	process.Await(e.T, func() error { // login pods and the worker are of 24.11
		_, err := e.ssh(e.Context(), "cd / && sbatch --parsable -o /dev/null --wrap true")
		return err
	})

	e.testWayBack("accounting", "slurmdbd", "slurmdbd", "slurm-accounting-0")
	e.testWayBack("controller", "slurmctld", "slurmd", e.ctld)
	e.awaitState(job, "RUNNING")
	e.slurm("scancel", job)
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.slurm("scancel", "--me") // the worker waits for its jobs
	begin = time.Now()
	e.setImage("nodeset", "slurmd", "slurmd:26.05")
	e.awaitStatusRelease("nodeset", "26.05")
	e.Logf("the worker is of 26.05 after %.1f s", time.Since(begin).Seconds())
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.awaitNoLookups()
}

// testWrongOrder gives slurmctld, slurmrestd and the worker the images of 26.05 before slurmdbd. The operator changes none of them.
// slurmctld and the worker get their old images back; slurmrestd keeps waiting.
func (e *env) testWrongOrder() {
	e.Helper()
	before, workerBefore := e.podUID(e.ctld), e.workerUIDs()
	begin := time.Now()
	e.setImage("nodeset", "slurmd", "slurmd:26.05")
	e.setImage("controller", "slurmctld", "slurmd:26.05")
	e.setImage("restapi", "slurmrestd", "slurmd:26.05")
	e.awaitReleaseAllowed("controller", "False WaitingForSlurmdbd slurmctld 26.05 does not work with the slurmdbd of "+
		"Accounting slurm, which is 24.11")
	e.awaitReleaseAllowed("restapi", "False WaitingForSlurmdbd")
	e.awaitReleaseAllowed("nodeset", "False WaitingForSlurmdbd slurmd 26.05 does not work with the slurmdbd of "+
		"Accounting slurm, which is 24.11")
	e.Logf("the wrong order was refused after %.1f s", time.Since(begin).Seconds())
	e.setImage("controller", "slurmctld", "slurmd:24.11")
	e.awaitReleaseAllowed("controller", "")
	e.awaitStatusRelease("controller", "24.11")
	e.setImage("nodeset", "slurmd", "slurmd:24.11")
	e.awaitReleaseAllowed("nodeset", "")
	e.awaitStatusRelease("nodeset", "24.11")
	if after := e.workerUIDs(); after != workerBefore {
		e.Errorf("the worker was replaced")
	}
	if after := e.podUID(e.ctld); after != before {
		e.Errorf("slurmctld's pod was replaced")
	}
	image := e.kubectl("get", "deployment", "slurm-restapi", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	if !strings.HasSuffix(image, ":24.11") {
		e.Errorf("slurmrestd has the image %s", image)
	}
}

// testWayBack gives a daemon of 26.05 an image of 24.11. Its pod is not changed.
func (e *env) testWayBack(kind, daemon, image, pod string) {
	e.Helper()
	e.awaitStatusRelease(kind, "26.05")
	before := e.podUID(pod)
	begin := time.Now()
	e.setImage(kind, daemon, image+":24.11")
	e.awaitReleaseAllowed(kind, "False Downgrade "+daemon+" 24.11 cannot read what 26.05 has stored")
	e.Logf("the way back of %s was refused after %.1f s", daemon, time.Since(begin).Seconds())
	e.setImage(kind, daemon, image+":26.05")
	e.awaitReleaseAllowed(kind, "")
	e.awaitRelease(pod, daemon, "26.05")
	if after := e.podUID(pod); after != before {
		e.Errorf("the pod of %s was replaced", daemon)
	}
}

// awaitReleaseAllowed waits until the condition ReleaseAllowed of an object begins with want, or is missing if want is empty.
func (e *env) awaitReleaseAllowed(kind, want string) {
	e.Helper()
	const path = `jsonpath={.status.conditions[?(@.type=="ReleaseAllowed")]['status','reason','message']}`
	process.Await(e.T, func() error {
		got := e.kubectl("get", objectOf(kind), "-o", path)
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			return fmt.Errorf("ReleaseAllowed of %s is %q, not %q", kind, got, want)
		}
		return nil
	})
}

// awaitStatusRelease waits until the status of an object reports one release for all its pods.
func (e *env) awaitStatusRelease(kind, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		got := e.kubectl("get", objectOf(kind), "-o", "jsonpath={.status.release}{.status.nextImage}")
		if got != want {
			return fmt.Errorf("the release and the next image of %s are %q, not %q", kind, got, want)
		}
		return nil
	})
}

// awaitNoLookups waits until the pods that looked up releases are gone.
func (e *env) awaitNoLookups() {
	e.Helper()
	process.Await(e.T, func() error {
		if got := e.kubectl("get", "pods", "-l", "app.kubernetes.io/name=slurm-release", "-o", "name"); got != "" {
			return fmt.Errorf("there are still %q", got)
		}
		return nil
	})
}

// objectOf returns the object of a kind in the cluster, for kubectl.
func objectOf(kind string) string {
	if kind == "nodeset" {
		return "nodeset/w"
	}
	return kind + "/slurm"
}

// workerUIDs returns the UIDs of the pods of the NodeSet.
func (e *env) workerUIDs() string {
	e.Helper()
	return e.kubectl("get", "pods", "-l", "app.kubernetes.io/name=slurmd,app.kubernetes.io/instance=w", "-o",
		"jsonpath={.items[*].metadata.uid}")
}

func (e *env) podUID(pod string) string {
	e.Helper()
	return e.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
}

// setImage sets the image of a daemon's container.
func (e *env) setImage(kind, container, image string) {
	e.Helper()
	e.kubectl("patch", objectOf(kind), "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{%q:{"image":"localhost/%s"}}}`, container, image))
}

// awaitRelease waits until the daemon in a pod has a release.
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
