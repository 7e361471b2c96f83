//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/sshd"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testLogin logs in through SSSD, submits a job, replaces and scales the login pods.
func (e *env) testLogin() {
	e.awaitLogin()
	e.testSubmit()
	e.testOpenSession()
	e.testScaleInWithSession()
	e.testZero()
	if *long {
		e.testChangedSSSD()
	}
}

// testSubmit submits a job from a login pod. The worker knows only the number of the user.
func (e *env) testSubmit() {
	var job string
	process.Await(e.T, func() error { // until the Service has the pod
		out, err := e.ssh(e.Context(), "cd / && sbatch --parsable -o /dev/null --wrap 'test $(id -u) = 3001'")
		job = out[strings.LastIndex(out, "\n")+1:]
		return err
	})
	e.awaitState(job, "COMPLETED")
	e.await("(3001)", "scontrol", "show", "job", job)
	out, err := e.ssh(e.Context(), "test -O ~ && pwd && squeue -h -u alice | wc -l")
	if err != nil || !strings.Contains(out, "/home/alice\n") {
		e.Errorf("alice is in %q, %v", out, err)
	}
}

// untilTold is a command that runs until the test creates a file.
const untilTold = "until test -e /tmp/told; do sleep 0.2; done; echo still here"

// testOpenSession replaces the login pods while a user is logged in at a terminal and runs a command. Both continue,
// the terminal shows a notice, and the pod ends after them.
func (e *env) testOpenSession() {
	old := e.loginPod()
	ctx, cancel := context.WithTimeout(e.Context(), 5*time.Minute)
	defer cancel()
	outputs := [2]string{"/tmp/terminal", "/tmp/command"} // in the pod of the client
	var failures [2]error
	var wg sync.WaitGroup
	for i, options := range [2][]string{{"-tt"}, nil} {
		wg.Go(func() {
			session := append(append([]string{"ssh"}, sshOptions...), append(options, "login", "'"+untilTold+"'")...)
			_, failures[i] = e.kube.Kubectl(ctx, "--namespace", e.namespace, "exec", "client", "--", "sh", "-c",
				strings.Join(session, " ")+" >"+outputs[i])
		})
	}
	e.awaitSessions(old, 2)
	e.kubectl("patch", "loginset", "login", "--type=merge", "-p", `{"spec":{"extraSshdConfig":"MaxAuthTries 5\n"}}`)
	process.Await(e.T, func() error {
		if e.loginPod() == old {
			return errors.New("the pod has not been replaced yet")
		}
		return nil
	})
	process.Await(e.T, func() error {
		if text := e.kubectl("exec", "client", "--", "cat", outputs[0]); !strings.Contains(text,
			"This login pod ("+old+") is leaving") {
			return fmt.Errorf("the terminal was not told: %q", text)
		}
		return nil
	})
	e.kubectl("exec", old, "-c", "login", "--", "touch", "/tmp/told")
	wg.Wait()
	for i, output := range outputs {
		if text := e.kubectl("exec", "client", "--", "cat", output); failures[i] != nil ||
			!strings.Contains(text, "still here") {
			e.Errorf("a session was cut: %q, %v", text, failures[i])
		}
	}
	begin := time.Now()
	e.kubectl("wait", "pod/"+old, "--for=delete", "--timeout=60s")
	e.Logf("the pod leaves %.1f s after its last session", time.Since(begin).Seconds())
}

// testScaleInWithSession scales two login pods to one while a user is logged in to the newer one, which Kubernetes
// would otherwise remove. The pod without a session leaves.
func (e *env) testScaleInWithSession() {
	e.kubectl("scale", "loginset/login", "--replicas=2")
	e.kubectl("wait", "loginset/login", "--for=jsonpath={.status.replicas}=2", "--timeout=60s")
	e.kubectl("wait", "loginset/login", "--for=condition=Ready", "--timeout=120s")
	busy := e.loginPod()
	e.kubectl("wait", "pod/"+busy, "--for=condition=Ready", "--timeout=120s")
	address := e.kubectl("get", "pod", busy, "-o", "jsonpath={.status.podIP}")
	ctx, cancel := context.WithTimeout(e.Context(), 5*time.Minute)
	defer cancel()
	var printed string
	var failure error
	var wg sync.WaitGroup
	wg.Go(func() {
		args := slices.Concat([]string{"--namespace", e.namespace, "exec", "client", "--", "ssh"}, sshOptions,
			[]string{address, untilTold})
		printed, failure = e.kube.Kubectl(ctx, args...)
	})
	e.awaitSessions(busy, 1)
	process.Await(e.T, func() error {
		cost := e.kubectl("get", "pod", busy, "-o",
			`jsonpath={.metadata.annotations.controller\.kubernetes\.io/pod-deletion-cost}`)
		if cost != "1" {
			return fmt.Errorf("the pod with one session costs %q", cost)
		}
		return nil
	})
	e.kubectl("scale", "loginset/login", "--replicas=1")
	e.kubectl("wait", "loginset/login", "--for=jsonpath={.status.replicas}=1", "--timeout=60s")
	if stays := e.loginPod(); stays != busy {
		e.Errorf("pod %s stays, and %s leaves, where alice is logged in", stays, busy)
	}
	e.kubectl("exec", busy, "-c", "login", "--", "touch", "/tmp/told")
	wg.Wait()
	if failure != nil || !strings.Contains(printed, "still here") {
		e.Errorf("the session was cut: %q, %v", printed, failure)
	}
}

// awaitSessions waits until alice has the given number of sessions in a pod.
func (e *env) awaitSessions(pod string, count int) {
	e.Helper()
	process.AwaitValue(e.T, "the number of sessions", strconv.Itoa(count), func(ctx context.Context) (string, error) {
		out, err := e.kube.Kubectl(ctx, "--namespace", e.namespace, "exec", pod, "-c", "login", "--", "sh", "-c",
			"cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^sshd-session: alice@'")
		return strings.TrimSpace(out), err
	})
}

// loginPod returns the name of the newest login pod that is not being deleted.
func (e *env) loginPod() string {
	e.Helper()
	out := e.kubectl("get", "pods", "-l", "app.kubernetes.io/name=login", "--sort-by=.metadata.creationTimestamp", "-o",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}}{{"\n"}}{{end}}{{end}}`)
	pods := strings.Fields(out)
	if len(pods) == 0 {
		return ""
	}
	return pods[len(pods)-1]
}

// testZero scales the LoginSet to zero and back. Its host keys are the same: ssh has them in known_hosts.
func (e *env) testZero() {
	keys := e.kubectl("get", "secret", names.LoginHostKeys("login"), "-o", "jsonpath={.metadata.uid}")
	e.kubectl("scale", "loginset/login", "--replicas=0")
	e.kubectl("wait", "loginset/login", "--for=jsonpath={.status.replicas}=0", "--timeout=60s")
	e.kubectl("scale", "loginset/login", "--replicas=1")
	e.kubectl("wait", "loginset/login", "--for=condition=Ready", "--timeout=120s")
	process.Await(e.T, func() error {
		_, err := e.ssh(e.Context(), "true")
		return err
	})
	if now := e.kubectl("get", "secret", names.LoginHostKeys("login"), "-o", "jsonpath={.metadata.uid}"); now != keys {
		e.Errorf("the host keys are those of Secret %s, not %s", now, keys)
	}
}

// testChangedSSSD changes the Secret of SSSD, which the kubelet takes a minute to distribute. SSSD restarts in its
// container.
func (e *env) testChangedSSSD() {
	const line = "# changed"
	conf := e.kubectl("get", "secret", "sssd", "-o", `go-template={{index .data "sssd.conf" | base64decode}}`)
	patch, err := json.Marshal(map[string]any{"stringData": map[string]string{"sssd.conf": conf + "\n" + line + "\n"}})
	must(e.T, err)
	e.kubectl("patch", "secret", "sssd", "--type=merge", "-p", string(patch))
	pod := e.loginPod()
	process.Await(e.T, func() error {
		_, err := e.kube.Kubectl(e.Context(), "--namespace", e.namespace, "exec", pod, "-c", sshd.ContainerSSSD, "--",
			"grep", line, "/etc/sssd/sssd.conf")
		return err
	})
	process.Await(e.T, func() error {
		out, err := e.ssh(e.Context(), "whoami")
		if err == nil && !strings.HasSuffix(out, "alice") {
			err = fmt.Errorf("alice is %q", out)
		}
		return err
	})
	if restarts := e.kubectl("get", "pod", pod, "-o",
		"jsonpath={.status.initContainerStatuses[*].restartCount}"); strings.Trim(restarts, " 0") != "" {
		e.Errorf("containers started again: %s", restarts)
	}
}
