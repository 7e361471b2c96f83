//go:build e2e

package cluster

import (
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

var long = flag.Bool("long", false, "test everything on every release, not only on the newest one")

// versions are the releases of Slurm, the newest first.
var versions = []string{"26.05", "24.11"}

// TestController makes Slurm clusters of both releases from custom resources.
func TestController(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	var namespaces []string
	for _, version := range versions {
		namespaces = append(namespaces, namespaceOf("cluster.yaml", version), namespaceOf("ha.yaml", version))
	}
	kube := startKube(t, namespaces)
	t.Run("releases", func(t *testing.T) {
		for _, version := range versions {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				e := startSlurm(t, kube, version, "cluster.yaml", "ldap.yaml", "login.yaml")
				job := e.submit("--wrap", "sleep 3600")
				e.awaitState(job, "RUNNING")
				e.slurm("test", "-s", "/var/spool/slurmctld/assoc_usage") // 26.05 does not start again without it
				if isTestedWhole(version) {
					e.testEverything(job)
				} else {
					e.awaitLogin()
					e.testSubmit()
				}
				begin := e.testScaleFromZero()
				if isTestedWhole(version) {
					e.testWorkerSSH()
				}
				e.testScaleToZero(begin)
				if *long {
					e.testDeletedClaim(version)
				}
				if version == "24.11" {
					e.testUpgrade()
				}
			})
		}
	})
	checkRights(t, kube)
	t.Run("takeover", func(t *testing.T) { testTakeover(t, kube) })
}

// isTestedWhole reports whether everything is tested on a release.
func isTestedWhole(version string) bool { return *long || version == versions[0] }

// testEverything changes, kills and replaces the parts of a cluster while a job runs.
func (e *env) testEverything(job string) {
	e.testJob()
	e.testLogin()
	endStream := e.startStream()
	e.testAccounting()
	e.testRestAPI(job)
	e.testConfiguration(job)
	e.testDeletedPod(job)
	endStream()
	if *long {
		e.testTLS()
	}
	e.testKilled(job)
	e.testPodSecurity()
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

// testPodSecurity checks that slurmctld's pod meets the pod security standard "restricted".
func (e *env) testPodSecurity() {
	out, err := e.kube.Kubectl(e.Context(), "label", "--dry-run=server", "--overwrite", "namespace", e.namespace,
		"pod-security.kubernetes.io/enforce=restricted")
	must(e.T, err)
	if strings.Contains(out, "slurm-controller-0") {
		e.Error(out)
	}
}

// testJob runs a job. A job that waits for a name which does not resolve takes ten seconds more.
func (e *env) testJob() {
	begin := time.Now()
	job := e.submit("--wrap", "hostname")
	e.awaitState(job, "COMPLETED")
	e.Logf("a job: %.1f s", time.Since(begin).Seconds())
	if logs := e.kubectl("logs", "w-0"); strings.Contains(logs, "getaddrinfo() failed") {
		e.Errorf("slurmd does not resolve every name:\n%s", logs)
	}
}

// testConfiguration changes every kind of input while a job runs. slurmctld keeps its process.
func (e *env) testConfiguration(job string) {
	pid := e.slurm("cat", slurmconf.RunDir+"/slurmctld.pid")
	e.measureChange("a partition", func() { e.setExtraConf("PartitionName=more Nodes=ALL") }, "PartitionName=more",
		"scontrol", "show", "partition", "more")
	e.measureChange("a prolog script", func() {
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
	e.Logf("a user's ConfigMap is on the worker after %.1f s", time.Since(begin).Seconds())

	begin = time.Now()
	e.setExtraConf("Nonsense=1")
	e.awaitCondition("ConfigApplied", "False Refused")
	e.Logf("a broken configuration is refused after %.1f s: %s", time.Since(begin).Seconds(), e.condition("ConfigApplied"))
	e.awaitCondition("ConfigApplied", "Nonsense=1")
	e.measureChange("its correction", func() { e.setExtraConf("MailDomain=example.com") }, "example.com", "scontrol", "show",
		"config")
	e.awaitState(job, "RUNNING")
	if now := e.slurm("cat", slurmconf.RunDir+"/slurmctld.pid"); now != pid {
		e.Errorf("slurmctld has the process %s, not %s: it was started again", now, pid)
	}
	if restarts := e.restarts(); restarts != "0" {
		e.Errorf("slurmctld was restarted %s times", restarts)
	}
}

// testDeletedPod deletes slurmctld's pod while a job runs and a broken configuration is wanted.
func (e *env) testDeletedPod(job string) {
	e.setExtraConf("Nonsense=1")
	e.awaitCondition("ConfigApplied", "False Refused")
	pod := e.kubectl("get", "pod", "slurm-controller-0", "-o", "jsonpath={.metadata.uid}")
	begin := time.Now()
	e.kubectl("delete", "pod", "slurm-controller-0", "--wait=false")
	process.Await(e.T, func() error {
		now, err := e.kube.Kubectl(e.Context(), "-n", e.namespace, "get", "pod", "slurm-controller-0", "-o",
			"jsonpath={.metadata.uid}")
		if err == nil && now == pod {
			err = errors.New("the pod is still there")
		}
		return err
	})
	e.awaitState(job, "RUNNING")
	e.Logf("its pod deleted, while a broken configuration is wanted: it answers after %.1f s",
		time.Since(begin).Seconds())
	e.awaitCondition("ConfigApplied", "False Refused")
	e.await("example.com", "scontrol", "show", "config")
	e.measureChange("the correction", func() { e.setExtraConf("MailDomain=example.org") }, "example.org", "scontrol",
		"show", "config")
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
}

// testKilled kills slurmctld with SIGKILL while a job runs. slurmctld loses its last seconds (see stateInterval), so
// the test submits no job then.
func (e *env) testKilled(job string) {
	before := e.restarts()
	time.Sleep(stateInterval)
	begin := time.Now()
	e.slurm("sh", "-c", "kill -9 $(cat "+slurmconf.RunDir+"/slurmctld.pid)")
	process.Await(e.T, func() error {
		if e.restarts() == before {
			return errors.New("slurmctld was not started again")
		}
		return nil
	})
	e.awaitState(job, "RUNNING")
	e.Logf("slurmctld killed: it answers after %.1f s", time.Since(begin).Seconds())
	e.slurm("scancel", job)
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
}

// stateInterval is how long slurmctld may take to write its state (docs/development/slurm.md, "A killed slurmctld"). A
// SIGKILL loses everything that it accepted later.
const stateInterval = 6 * time.Second

// restarts returns how often slurmctld's container was started again.
func (e *env) restarts() string {
	e.Helper()
	return e.kubectl("get", "pod", "slurm-controller-0", "-o",
		`jsonpath={.status.containerStatuses[?(@.name=="slurmctld")].restartCount}`)
}

// setExtraConf appends a line to the extraConf of testdata.
func (e *env) setExtraConf(line string) {
	e.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"extraConf": e.extraConf + line + "\n"}})
	must(e.T, err)
	e.kubectl("patch", "controller", "slurm", "--type=merge", "-p", string(patch))
}

// measureChange changes something and waits until slurmctld has it.
func (e *env) measureChange(what string, change func(), want string, command ...string) {
	e.Helper()
	begin := time.Now()
	change()
	e.await(want, command...)
	e.Logf("%s is in force after %.1f s", what, time.Since(begin).Seconds())
	e.awaitCondition("ConfigApplied", "True Applied")
}
