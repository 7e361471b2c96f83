//go:build e2e

package cluster

import (
	"context"
	"encoding/base64"
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

// TestRotation replaces the key of auth/slurm twice, with -long on each release. It first replaces slurm.key by a key set, then the key in
// that set, and the key of auth/jwt at the same time. Meanwhile a job runs. Commands in slurmctld's container and in a login pod, and
// requests to slurmrestd with the token of a Token, follow each other. The operator is stopped in the middle of the first rotation and
// started again. A partition that an administrator has drained stays drained.
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
		e := startSlurm(t, kube, version, "cluster.yaml", "ldap.yaml", "login.yaml", "token.yaml")
		e.awaitLogin()
		c := e.startStreams(version)
		c.streamFromLoginPod()
		clusters = append(clusters, c)
	}
	for _, c := range clusters {
		c.requestRotation(slurmKey, "first")
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
		c.awaitRotated(slurmKey)
		c.checkOldKeyIsRefused()
	}
	for _, c := range clusters {
		c.requestRotation(slurmKey, "second")
		c.requestRotation(jwtKey, "tokens")
	}
	for _, c := range clusters {
		c.awaitRotated(slurmKey)
		c.awaitRotated(jwtKey)
		c.checkOldTokenIsRefused()
		c.awaitRecords(c.checkStreams())
	}
	checkPolls(t, kube)
}

// rotatedKey is a kind of key: the annotation that requests a new key, and the condition with the progress.
type rotatedKey struct{ annotation, condition string }

var (
	slurmKey = rotatedKey{v1beta1.AnnotationRotateKeys, v1beta1.ConditionKeysRotated}
	jwtKey   = rotatedKey{v1beta1.AnnotationRotateJWTKeys, v1beta1.ConditionJWTKeysRotated}
)

// rotatedCluster is a cluster with a running job and streams of client calls.
type rotatedCluster struct {
	*env
	version, job, worker, pid string
	hasLogin                  bool
	begin                     time.Time
	lastStep                  map[rotatedKey]string
	// askWithOldToken sends a request to slurmrestd with a token of the first key of auth/jwt.
	askWithOldToken func(ctx context.Context, path string) (string, error)

	cancel  context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	results map[string]string // what the streams print
	answers int
	faults  []string
}

// startStreams starts a job, and the streams of slurmctld's container and of slurmrestd.
func (e *env) startStreams(version string) *rotatedCluster {
	e.Helper()
	c := &rotatedCluster{env: e, version: version, results: map[string]string{}, lastStep: map[rotatedKey]string{},
		begin: time.Now(), askWithOldToken: e.restdClient()}
	e.measureChange("a partition", func() { e.setExtraConf("PartitionName=closed Nodes=ALL") }, "State=UP", "scontrol", "show",
		"partition", "closed")
	e.slurm("scontrol", "update", "PartitionName=closed", "State=DRAIN")
	c.job = e.submit("--wrap", "sleep 1200")
	e.awaitState(c.job, "RUNNING")
	c.worker, c.pid = e.kubectl("get", "pod", "w-0", "-o", "jsonpath={.metadata.uid}"), e.slurm("pidof", "slurmctld")
	ask := e.restdClientAt("slurm-restapi:6820", c.readToken())
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
	return c
}

// loginStream is where the stream of a login pod runs.
const loginStream = "the login pod"

// streamFromLoginPod starts the stream of a login pod.
func (c *rotatedCluster) streamFromLoginPod() {
	c.Helper()
	process.Await(c.T, func() error { // until the Service has the login pod
		_, err := c.ssh(c.Context(), "squeue -h")
		return err
	})
	c.hasLogin = true
	c.wg.Go(func() {
		c.addResult(loginStream, func() (string, error) { return c.ssh(c.Context(), streamScript) })
	})
}

// addResult runs a stream and keeps its output.
func (c *rotatedCluster) addResult(where string, run func() (string, error)) {
	out, err := run()
	if err != nil {
		out += "\n" + err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[where] = out
}

// readToken returns a function that returns the token of the Token. It reads the token every five seconds, like the kubelet and a program
// that reads it from a volume. The lifetime in token.yaml gives them 12 seconds.
func (c *rotatedCluster) readToken() func() string {
	var token string
	var at time.Time
	return func() string {
		if time.Since(at) > 5*time.Second {
			encoded, err := c.kube.Kubectl(c.Context(), "--namespace", c.namespace, "get", "secret", "bot-jwt-root", "-o",
				"jsonpath={.data.SLURM_JWT}")
			if content, invalid := base64.StdEncoding.DecodeString(encoded); err == nil && invalid == nil {
				token, at = string(content), time.Now()
			}
		}
		return token
	}
}

// requestRotation asks for a new key.
func (c *rotatedCluster) requestRotation(key rotatedKey, value string) {
	c.Helper()
	c.begin, c.lastStep[key] = time.Now(), ""
	c.kubectl("annotate", "controller", "slurm", "--overwrite", key.annotation+"="+value)
	process.Await(c.T, func() error { // Rotated may be of the rotation before
		if !strings.Contains(c.kubectl("get", "secrets", "-o", "jsonpath={.items[*].metadata.annotations}"),
			`\"slurm\":\"`+value+`\"`) {
			return errors.New("the rotation has not begun")
		}
		return nil
	})
}

// awaitRotated waits for the end of a rotation, and prints each step with its time.
func (c *rotatedCluster) awaitRotated(key rotatedKey) {
	c.Helper()
	process.Await(c.T, func() error {
		status := c.condition(key.condition)
		words := strings.SplitN(status, " ", 3)
		if len(words) < 3 {
			return fmt.Errorf("there is no condition %s", key.condition)
		}
		if words[1] != c.lastStep[key] {
			c.lastStep[key] = words[1]
			c.Logf("%s: %s: %s after %.1f s: %s", c.version, key.condition, words[1], time.Since(c.begin).Seconds(), words[2])
		}
		if c.lastStep[key] != v1beta1.ReasonRotated {
			return errors.New(status)
		}
		return nil
	})
}

// checkOldTokenIsRefused checks that a token of the first key of auth/jwt is refused.
func (c *rotatedCluster) checkOldTokenIsRefused() {
	c.Helper()
	_, err := c.askWithOldToken(c.Context(), "/slurm/v0.0.42/jobs/")
	if err == nil || !strings.Contains(err.Error(), "511") && !strings.Contains(err.Error(), "401") {
		c.Errorf("%s: with a token of the old key: %v", c.version, err)
	}
}

// checkPolls checks that no poll of the operator or the adapter was refused.
func checkPolls(t *testing.T, kube *realkube.Cluster) {
	t.Helper()
	for _, program := range []string{"slurm-operator", "slurm-metrics"} {
		log, err := kube.Kubectl(t.Context(), "logs", "--namespace", systemNamespace, "-l",
			"app.kubernetes.io/name="+program, "--tail=-1", "--all-containers")
		must(t, err)
		refused := 0
		for line := range strings.Lines(log) {
			if strings.Contains(line, "unauthori") {
				refused++
				t.Log(strings.TrimSpace(line))
			}
		}
		t.Logf("%s: %d lines of log, %d of refused polls", program, strings.Count(log, "\n"), refused)
		if refused > 0 || log == "" {
			t.Errorf("polls of %s were refused", program)
		}
	}
}

// checkOldKeyIsRefused checks that slurmctld refuses a client that has only the user's slurm.key: a slurmd that requests its configuration
// with this key.
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

// checkStreams ends the streams and checks that no call failed and that nothing was restarted. It returns the jobs.
func (c *rotatedCluster) checkStreams() (jobs []string) {
	c.Helper()
	c.cancel()
	c.slurm("touch", "/tmp/stream-ended")
	if c.hasLogin {
		c.kubectl("exec", c.loginPod(), "-c", "login", "--", "touch", "/tmp/stream-ended")
	}
	c.wg.Wait()
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
	c.await("State=DRAIN", "scontrol", "show", "partition", "closed") // as an administrator has set it
	if worker := c.kubectl("get", "pod", "w-0", "-o", "jsonpath={.metadata.uid}"); worker != c.worker {
		c.Errorf("%s: the worker was replaced", c.version)
	}
	if pid := c.slurm("pidof", "slurmctld"); pid != c.pid || c.restarts() != "0" {
		c.Errorf("%s: slurmctld was started again: process %s, before %s", c.version, pid, c.pid)
	}
	c.Logf("%s: %d jobs were accepted", c.version, len(jobs))
	return jobs
}
