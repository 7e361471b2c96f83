//go:build e2e

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestRotation replaces the key of auth/slurm twice, with -long on each release: first slurm.key by a key set, then the key in
// that set. Meanwhile a job runs, and commands in slurmctld's container and in a login pod and requests to
// slurmrestd follow each other. The operator is stopped in the middle of the first rotation and started again.
func TestRotation(t *testing.T) {
	if missing := realkube.MissingNodeRequirement(); missing != "" {
		t.Skip(missing)
	}
	if !*long {
		t.Skip("it runs only with -long")
	}
	tested := slices.DeleteFunc(slices.Clone(versions), func(version string) bool { return !isTestedWhole(version) })
	var namespaces []string
	for _, version := range tested {
		namespaces = append(namespaces, namespaceOf("cluster.yaml", version))
	}
	kube := startKube(t, namespaces)
	var clusters []*rotatedCluster
	for _, version := range tested {
		e := startSlurm(t, kube, version, "cluster.yaml", "ldap.yaml", "login.yaml")
		e.awaitLogin()
		clusters = append(clusters, e.startStreams(version))
	}
	for _, c := range clusters {
		c.requestRotation("first")
	}
	stopOperator(t, kube)
	for _, c := range clusters {
		c.Logf("%s: the operator is stopped after %.1f s: %s", c.version, time.Since(c.begin).Seconds(),
			c.condition(v1beta1.ConditionKeysRotated))
	}
	_, err := kube.Kubectl(t.Context(), "--namespace", systemNamespace, "scale", "deployment/slurm-operator",
		"--replicas=1")
	must(t, err)
	for _, c := range clusters {
		c.awaitRotated()
		c.checkOldKeyIsRefused()
	}
	for _, c := range clusters {
		c.requestRotation("second")
	}
	for _, c := range clusters {
		c.awaitRotated()
		c.checkStreams()
	}
}

// rotatedCluster is a cluster with a running job and streams of client calls.
type rotatedCluster struct {
	*env
	version, job, worker, pid string
	begin                     time.Time
	lastStep                  string

	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	results map[string]string // what the streams print
	answers int
	faults  []string
}

// startStreams starts a job and the streams.
func (e *env) startStreams(version string) *rotatedCluster {
	e.Helper()
	c := &rotatedCluster{env: e, version: version, results: map[string]string{}}
	c.job = e.submit("--wrap", "sleep 1200")
	e.awaitState(c.job, "RUNNING")
	process.Await(e.T, func() error { // until the Service has the login pod
		_, err := e.ssh(e.Context(), "squeue -h")
		return err
	})
	c.worker, c.pid = e.kubectl("get", "pod", "w-0", "-o", "jsonpath={.metadata.uid}"), e.slurm("pidof", "slurmctld")
	ask := e.restdClient()
	ctx, cancel := context.WithCancel(e.Context())
	c.cancel = cancel
	c.wg.Go(func() {
		for ctx.Err() == nil {
			_, err := ask(ctx, "/slurm/v0.0.42/jobs/")
			c.mu.Lock()
			if err == nil {
				c.answers++
			} else if ctx.Err() == nil {
				c.faults = append(c.faults, err.Error())
			}
			c.mu.Unlock()
			time.Sleep(200 * time.Millisecond) // not as many requests as possible
		}
	})
	c.wg.Go(func() {
		c.addResult("slurmctld's container", func() (string, error) {
			return e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", e.ctld, "-c", "slurmctld", "--",
				"sh", "-c", streamScript)
		})
	})
	c.wg.Go(func() {
		c.addResult("the login pod", func() (string, error) { return e.ssh(e.Context(), streamScript) })
	})
	return c
}

// addResult runs a stream and keeps what it prints.
func (c *rotatedCluster) addResult(where string, run func() (string, error)) {
	out, err := run()
	if err != nil {
		out += "\n" + err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[where] = out
}

// requestRotation asks for a new key.
func (c *rotatedCluster) requestRotation(value string) {
	c.Helper()
	c.begin, c.lastStep = time.Now(), ""
	c.kubectl("annotate", "controller", "slurm", "--overwrite", v1beta1.AnnotationRotateKeys+"="+value)
	process.Await(c.T, func() error { // Rotated may be of the rotation before
		if !strings.Contains(c.kubectl("get", "secrets", "-o", "jsonpath={.items[*].metadata.annotations}"),
			`\"slurm\":\"`+value+`\"`) {
			return errors.New("the rotation has not begun")
		}
		return nil
	})
}

// awaitRotated waits for the end of a rotation, and prints each step with its time.
func (c *rotatedCluster) awaitRotated() {
	c.Helper()
	process.Await(c.T, func() error {
		status := c.condition(v1beta1.ConditionKeysRotated)
		words := strings.SplitN(status, " ", 3)
		if len(words) < 3 {
			return errors.New("there is no condition KeysRotated")
		}
		if words[1] != c.lastStep {
			c.lastStep = words[1]
			c.Logf("%s: %s after %.1f s: %s", c.version, words[1], time.Since(c.begin).Seconds(), words[2])
		}
		if c.lastStep != v1beta1.ReasonRotated {
			return errors.New(status)
		}
		return nil
	})
}

// checkOldKeyIsRefused checks that slurmctld refuses a client that has the user's slurm.key alone: a slurmd that
// asks for its configuration with it.
func (c *rotatedCluster) checkOldKeyIsRefused() {
	c.Helper()
	pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"old-key"},"spec":{"restartPolicy":"Never",
		"containers":[{"name":"slurmd","image":"localhost/slurmd:%s","imagePullPolicy":"Never",
		"securityContext":{"privileged":true},"command":["sh","-c",
		"timeout 20 slurmd -D -Z -N old --conf-server slurm-controller:6817 --conf CPUs=1 2>&1 | head -40; true"],
		"volumeMounts":[{"name":"key","mountPath":"/etc/slurm"}]}],
		"volumes":[{"name":"key","secret":{"secretName":"slurm-auth","defaultMode":384}}]}}`, c.version)
	c.kubectl("run", "old-key", "--image=none", "--restart=Never", "--overrides", pod)
	process.Await(c.T, func() error {
		out, err := c.kube.Kubectl(c.Context(), "--namespace", c.namespace, "logs", "old-key")
		if err == nil && !strings.Contains(out, "Protocol authentication error") {
			err = fmt.Errorf("slurmd with the old key says %q", out)
		}
		return err
	})
	c.kubectl("delete", "pod", "old-key", "--wait=false")
}

// checkStreams ends the streams and checks that no call failed and that nothing was restarted or lost.
func (c *rotatedCluster) checkStreams() {
	c.Helper()
	c.cancel()
	c.slurm("touch", "/tmp/stream-ended")
	c.kubectl("exec", c.loginPod(), "-c", "login", "--", "touch", "/tmp/stream-ended")
	c.wg.Wait()
	var jobs []string
	for where, out := range c.results {
		accepted := 0
		for line := range strings.Lines(out) {
			if id, isJob := strings.CutPrefix(strings.TrimSpace(line), "job "); isJob {
				jobs = append(jobs, id)
				accepted++
			} else if strings.TrimSpace(line) != "" {
				c.Errorf("%s: in %s: %s", c.version, where, line)
			}
		}
		c.Logf("%s: in %s: %d times sbatch and squeue", c.version, where, accepted)
	}
	c.Logf("%s: slurmrestd: %d answers, %d failures", c.version, c.answers, len(c.faults))
	if len(c.faults) > 0 || c.answers == 0 {
		c.Errorf("%s: requests to slurmrestd failed: %s", c.version, strings.Join(c.faults, "; "))
	}
	c.awaitState(c.job, "RUNNING")
	c.await("Restarts=0", "scontrol", "show", "job", c.job)
	if worker := c.kubectl("get", "pod", "w-0", "-o", "jsonpath={.metadata.uid}"); worker != c.worker {
		c.Errorf("%s: the worker was replaced", c.version)
	}
	if pid := c.slurm("pidof", "slurmctld"); pid != c.pid || c.restarts() != "0" {
		c.Errorf("%s: slurmctld was started again: process %s, before %s", c.version, pid, c.pid)
	}
	c.awaitRecords(jobs)
	c.Logf("%s: %d jobs have run once and are recorded", c.version, len(jobs))
}
