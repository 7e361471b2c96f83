//go:build e2e

package soak

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// namespace is the namespace of the release.
const namespace = "slurm"

// env is a Kubernetes cluster with the release of the demo.
type env struct {
	*testing.T
	kube *realkube.Cluster
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installDemo starts Kubernetes and installs what the demo installs.
func installDemo(t *testing.T) *env {
	t.Helper()
	kube, err := realkube.Start(t.Context(), realkube.Config{Kubelet: true, Name: "soak"})
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	must(t, kube.LoadImages(t.Context(), "slurm-operator", "slurm-metrics-adapter", "slurm-agent", "services:dev",
		"slurmctld:26.05", "slurmrestd:26.05", "slurmd:26.05", "slurmdbd:26.05", "login:26.05"))
	e := &env{t, kube}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.logs())
		}
	})
	_, err = kube.Kubectl(t.Context(), "create", "namespace", namespace)
	must(t, err)
	root := filepath.Join("..", "..", "..")
	_, err = kube.Helm(t.Context(), "install", "slurm", filepath.Join(root, "charts", "slurm-stack"), "--namespace", namespace,
		"--values", filepath.Join(root, "hack", "images", "stack.values.yaml"),
		"--values", filepath.Join(root, "hack", "demo", "values.yaml"), "--values", "testdata/soak.values.yaml")
	must(t, err)
	e.awaitReady()
	return e
}

// awaitReady waits until jobs can be submitted.
func (e *env) awaitReady() {
	e.Helper()
	for _, object := range []string{"controllers.slinky.slurm.net/slurm", "accountings/slurm", "restapis/slurm",
		"loginset/slurm-login-main"} {
		e.kubectl("wait", object, "--for=condition=Ready", "--timeout=300s")
	}
	for _, set := range nodeSets {
		e.kubectl("wait", "nodeset/"+set, "--for=condition=Submittable", "--timeout=300s")
	}
	process.Await(e.T, func() error {
		_, err := e.login(e.Context(), "sinfo", "-h")
		return err
	})
}

// nodeSets are the NodeSets of the release.
var nodeSets = []string{"slurm-worker-cpu", "slurm-worker-gpu"}

// kubectl runs kubectl in the namespace.
func (e *env) kubectl(args ...string) string {
	e.Helper()
	out, err := e.tryKubectl(e.Context(), args...)
	if err != nil {
		e.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// tryKubectl runs kubectl in the namespace, and may fail.
func (e *env) tryKubectl(ctx context.Context, args ...string) (string, error) {
	out, err := e.kube.Kubectl(ctx, append([]string{"--namespace", namespace}, args...)...)
	return strings.TrimSpace(out), err
}

// login runs a command in the login pod.
func (e *env) login(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return e.tryKubectl(ctx, append([]string{"exec", "deployment/slurm-login-main", "-c", "login", "--"}, args...)...)
}

// controller runs a command in slurmctld's container.
func (e *env) controller(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return e.tryKubectl(ctx, append([]string{"exec", "slurm-controller-0", "-c", "slurmctld", "--"}, args...)...)
}

// kill ends the process of a program in the first pod of a name with SIGKILL.
func (e *env) kill(pods, program string) error {
	uid, err := e.tryKubectl(e.Context(), "get", "pods", "--selector=app.kubernetes.io/name="+pods, "--output",
		"jsonpath={.items[0].metadata.uid}")
	if err != nil {
		return err
	}
	pid, err := process.FindInPod(uid, program)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// logs returns what helps to understand a failed test.
func (e *env) logs() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out strings.Builder
	for _, args := range [][]string{{"get", "pods,nodesets,hpa", "-o", "wide"}, {"describe", "controllers.slinky.slurm.net"},
		{"describe", "nodesets"}, {"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "slurm-controller-0", "-c", "reconfigure", "--tail=100"},
		{"logs", "slurm-controller-0", "-c", "slurmctld", "--previous", "--tail=300"},
		{"logs", "slurm-controller-0", "-c", "slurmctld", "--tail=5000"},
		{"logs", "deployment/slurm-operator", "--tail=300"}} {
		text, err := e.tryKubectl(ctx, args...)
		fmt.Fprintf(&out, "==> kubectl %s <==\n%s\n", strings.Join(args, " "), text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}
