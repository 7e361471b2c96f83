//go:build e2e

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// versions are the releases of Slurm.
var versions = []string{"26.05", "24.11"}

// TestController makes a slurmctld from a Controller on each release, runs a job, and changes the
// configuration while another job runs.
func TestController(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	kube := startKube(t, versions)
	t.Run("releases", func(t *testing.T) {
		for _, version := range versions {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				e := startSlurm(t, kube, version)
				e.await("idle", "sinfo", "-h", "-n", "w-0", "-o", "%t")
				e.testJob()
				e.testConfiguration()
			})
		}
	})
}

// submit submits a script and returns the job's id.
func (e *env) submit(args ...string) string {
	e.Helper()
	return strings.TrimSpace(e.slurm(append([]string{"sbatch", "--parsable", "-o", "/dev/null", "-D", "/"}, args...)...))
}

// awaitState waits until a job has a state.
func (e *env) awaitState(job, want string) {
	e.Helper()
	e.await("JobState="+want, "scontrol", "show", "job", job)
}

func (e *env) testJob() {
	begin := time.Now()
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	e.Logf("a job: %.1f s", time.Since(begin).Seconds())
}

// testConfiguration changes every kind of input while a job runs. slurmctld keeps its process.
func (e *env) testConfiguration() {
	job := e.submit("--wrap", "sleep 600")
	e.awaitState(job, "RUNNING")
	pid := e.slurm("cat", "/run/slurmctld/slurmctld.pid")
	extra := e.kubectl("get", "controller", "slurm", "-o", "jsonpath={.spec.extraConf}")
	setExtra := func(line string) {
		e.kubectl("patch", "controller", "slurm", "--type=merge", "-p", `{"spec":{"extraConf":"`+
			strings.ReplaceAll(extra, "\n", `\n`)+`\n`+line+`"}}`)
	}
	measure := func(what string, change func(), want string, command ...string) {
		e.Helper()
		begin := time.Now()
		change()
		e.await(want, command...)
		e.Logf("%s in force after %.1f s", what, time.Since(begin).Seconds())
		e.awaitCondition("ConfigApplied", "True Applied")
	}
	measure("a partition", func() { setExtra("PartitionName=more Nodes=ALL") }, "PartitionName=more", "scontrol", "show",
		"partition", "more")
	measure("a prolog script", func() {
		e.kubectl("create", "configmap", "scripts", "--from-literal=a.sh=#!/bin/sh")
		e.kubectl("patch", "controller", "slurm", "--type=merge", "-p", `{"spec":{"prologScriptRefs":[{"name":"scripts"}]}}`)
	}, "a.sh", "scontrol", "show", "config")
	begin := time.Now()
	e.kubectl("patch", "configmap", "files", "--type=merge", "-p",
		`{"data":{"gres.conf":"# changed\nName=gpu Type=h100 File=/dev/full,/dev/zero\n"}}`)
	process.Await(e.T, func() error {
		_, err := e.kube.Kubectl(e.Context(), "-n", e.namespace, "exec", "w-0", "--", "grep", "-q", "changed",
			"/var/spool/slurmd/conf-cache/gres.conf")
		return err
	})
	e.Logf("a user's ConfigMap on the worker after %.1f s", time.Since(begin).Seconds())

	begin = time.Now()
	setExtra("Nonsense=1")
	e.awaitCondition("ConfigApplied", "False Refused")
	e.Logf("a broken configuration is refused after %.1f s: %s", time.Since(begin).Seconds(), e.condition("ConfigApplied"))
	e.awaitCondition("ConfigApplied", "Nonsense")
	setExtra("MailDomain=example.com")
	e.await("example.com", "scontrol", "show", "config")
	e.awaitCondition("ConfigApplied", "True Applied")
	e.awaitState(job, "RUNNING")
	if now := e.slurm("cat", "/run/slurmctld/slurmctld.pid"); now != pid {
		e.Errorf("slurmctld has the process %s, not %s: it was started again", now, pid)
	}
	if restarts := e.kubectl("get", "pod", "slurm-controller-0", "-o",
		"jsonpath={.status.containerStatuses[0].restartCount}"); restarts != "0" {
		e.Errorf("slurmctld was restarted %s times", restarts)
	}
}
