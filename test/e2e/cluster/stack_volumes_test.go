//go:build e2e

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// kept lists the objects that a release with the default values keeps when it is removed, as its page says.
var kept = []string{"persistentvolumeclaim/data-slurm-mariadb-0", "persistentvolumeclaim/statesave-slurm-controller-0",
	"secret/slurm-auth-jwt", "secret/slurm-auth-slurm", "secret/slurm-login-main-ssh-host-keys", "secret/slurm-mariadb"}

// remembered is the content of a release's volumes: a waiting job in slurmctld's state, and a job in the database.
type remembered struct{ waiting, done string }

// remember submits a job that waits until it is released. The job done has run before.
func (s stackEnv) remember(done string) remembered {
	s.Helper()
	job := s.submit("--hold", "--wrap", "hostname")
	s.awaitRecord(job, "PENDING")
	return remembered{job, done}
}

// requireRemembered waits until slurmctld and slurmdbd know the jobs.
func (s stackEnv) requireRemembered(jobs remembered) {
	s.Helper()
	s.await("JobState=PENDING Reason=JobHeldUser", "scontrol", "show", "job", jobs.waiting)
	s.awaitRecord(jobs.waiting, "PENDING")
	s.awaitRecord(jobs.done, "COMPLETED")
}

// awaitRecord waits until the record of a job in the database has a state.
func (s stackEnv) awaitRecord(job, state string) {
	s.Helper()
	s.await(job+"|"+state, "sacct", "--allocations", "--noheader", "--parsable2", "--jobs", job, "--format=JobID,State")
}

// testVolumes deletes the pods of slurmctld and of the database, whose volumes remain.
func (s stackEnv) testVolumes(jobs remembered) {
	s.Helper()
	claims := s.kubectl("get", "pvc", "-o", "jsonpath={.items[*].metadata.uid}")
	for _, pod := range []string{s.ctld, "slurm-mariadb-0"} {
		begin := time.Now()
		s.replacePod(pod)
		s.requireRemembered(jobs)
		s.Logf("%s deleted: its volume is in use again after %.1f s", pod, time.Since(begin).Seconds())
	}
	job := s.submit("--hold", "--wrap", "hostname")
	s.awaitRecord(job, "PENDING")
	s.slurm("scancel", job)
	s.awaitRecord(job, "CANCELLED")
	if after := s.kubectl("get", "pvc", "-o", "jsonpath={.items[*].metadata.uid}"); after != claims {
		s.Errorf("the claims were %s, and are %s", claims, after)
	}
}

// replacePod deletes a pod and waits until another one is ready.
func (s stackEnv) replacePod(pod string) {
	s.Helper()
	old := s.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	s.kubectl("delete", "pod", pod, "--wait=false")
	process.Await(s.T, func() error {
		out, err := s.kube.Kubectl(s.Context(), "--namespace", s.namespace, "get", "pod", pod, "-o",
			`jsonpath={.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && (strings.HasPrefix(out, old) || !strings.HasSuffix(out, " True")) {
			err = errors.New("the pod is " + out)
		}
		return err
	})
}

// requireKept requires that a removed release has kept what its page says, and no other claim or Secret.
func (s stackEnv) requireKept() {
	s.Helper()
	ofTheTest := []string{"secret/client", "secret/ldap-tls", "secret/sssd"}
	left := slices.DeleteFunc(strings.Fields(s.kubectl("get", "pvc,secrets", "-o", "name")), func(name string) bool {
		return slices.Contains(ofTheTest, name)
	})
	if diff := cmp.Diff(kept, left); diff != "" {
		s.Errorf("kept after helm uninstall (-want +got):\n%s", diff)
	}
}

// testReinstalled releases the job that waited in the removed release.
func (s stackEnv) testReinstalled(jobs remembered) {
	s.Helper()
	s.requireRemembered(jobs)
	process.Await(s.T, func() error { // Slurm knows the nodes some seconds later
		_, err := s.kube.Kubectl(s.Context(), "--namespace", s.namespace, "exec", s.ctld, "-c", "slurmctld", "--", "scontrol", "release", jobs.waiting)
		return err
	})
	s.awaitState(jobs.waiting, "COMPLETED")
	s.awaitRecord(jobs.waiting, "COMPLETED")
}

// testForgotten deletes what the release has kept, as its page says. The volumes are removed.
func (s stackEnv) testForgotten() {
	s.Helper()
	s.requireKept()
	s.kubectl(append([]string{"delete"}, kept...)...)
	process.Await(s.T, func() error {
		out, err := s.kube.Kubectl(s.Context(), "get", "pv", "-o", "name")
		if err == nil && out != "" {
			err = errors.New("volumes are left: " + out)
		}
		return err
	})
}

// testPendingLoadBalancer requires that the Service of login pods has no external address, because nothing assigns one here. The doctor
// must find no problem. Helm and the conditions did not wait for the address either.
func (s stackEnv) testPendingLoadBalancer() {
	s.Helper()
	got := s.kubectl("get", "service", s.login, "-o", "jsonpath={.spec.type} {.status.loadBalancer}")
	if got != "LoadBalancer {}" {
		s.Errorf("the Service of login pods is %q", got)
	}
	program, err := process.Build(s.Context(), s.TempDir(), "kubectl-slurm")
	must(s.T, err)
	process.Await(s.T, func() error {
		doctor := exec.CommandContext(s.Context(), program, "doctor", "--namespace", s.namespace, "--output", "json")
		doctor.Env = append(os.Environ(), "KUBECONFIG="+s.kube.Kubeconfig(), "NO_PROXY="+s.kube.HostAddress)
		text, err := doctor.Output()
		var report struct {
			Findings []struct{ Code, Problem string }
		}
		if json.Unmarshal(text, &report) != nil {
			return fmt.Errorf("the doctor prints %q: %w", text, err)
		}
		if len(report.Findings) > 0 {
			return fmt.Errorf("the doctor finds %+v", report.Findings)
		}
		return nil
	})
}
