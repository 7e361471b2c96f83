//go:build e2e

package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

const (
	hpc = "hpc"
)

func TestMain(m *testing.M) {
	if missing := realkube.MissingRequirement(); missing != "" {
		fmt.Fprintln(os.Stderr, missing)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// env is a Kubernetes cluster with our programs and two simulated Slurm clusters.
type env struct {
	*loop.ControlPlane
	// rootTest is the top-level test; everything stops at its end.
	rootTest    *testing.T
	client      kubernetes.Interface
	alpha, beta *slurmtest.Cluster
	restd       *restd.Server // of alpha
	dir         string
	operator    *process.Process
	adapterArgs []string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	begin := time.Now()
	control, err := loop.NewControlPlane(t.Context(), realkube.Config{
		Name: "plugin", ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-sync-period=1s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := control.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &env{ControlPlane: control, rootTest: t, dir: t.TempDir(), alpha: newSimulatedCluster("alpha"),
		beta: newSimulatedCluster("beta", "jobs")}
	config, err := control.Kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if r.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	r.buildProgram(t, "kubectl-slurm")
	r.restd = restd.Start(t, r.alpha)
	r.applyFile(t, "objects.yaml", "ALPHA", r.restd.URL(), "BETA", restd.Start(t, r.beta).URL())
	r.setToken(t, hpc, "alpha-token", 48*time.Hour)
	r.setToken(t, "lab", "beta-token", 48*time.Hour)
	r.adapterArgs = []string{"--slurm.poll-interval=1s", "--metrics-max-age=6s", "--slurm.timeout=3s",
		"--shutdown-delay=1s"}
	if err := control.StartAdapters(t.Context(), 1, r.adapterArgs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("adapter log:\n%s\nAPIServices:\n%s", r.Adapters[len(r.Adapters)-1].Log(),
				r.runShell(t, "kubectl get apiservices | grep slurm").out)
		}
	})
	r.startOperator(t)
	t.Logf("environment ready after %v", time.Since(begin).Round(time.Second))
	return r
}

// newSimulatedCluster returns a cluster with a partition gpu, whose nodes are registered by
// workers, and a partition cpu with two static nodes. Its PrivateData is configurable.
func newSimulatedCluster(name string, private ...string) *slurmtest.Cluster {
	return slurmtest.New(slurmtest.Config{
		ClusterName: name, Key: []byte(restd.Key), PrivateData: private, MessageTimeout: 200 * time.Millisecond,
		PingDelay: time.Second,
		Nodes:     []slurmtest.NodeConf{{Names: "cpu-[0-1]", CPUs: 8, MemoryMiB: 16000, Features: []string{"static"}}},
		Partitions: []slurmtest.PartitionConf{{Name: "gpu", Feature: "gpu"},
			{Name: "cpu", Feature: "static", Default: true}},
	})
}

func (r *env) setToken(t *testing.T, namespace, name string, life time.Duration) {
	t.Helper()
	r.applyManifest(t, fmt.Sprintf(
		"apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {SLURM_JWT: %q}\n", name,
		namespace, restd.Token(t, life)))
}

// applyFile applies a file of testdata after replacing words in it.
func (r *env) applyFile(t *testing.T, file string, oldnew ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	r.applyManifest(t, strings.NewReplacer(oldnew...).Replace(string(text)))
}

func (r *env) applyManifest(t *testing.T, text string) {
	t.Helper()
	if err := r.Kube.Apply(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func (r *env) buildProgram(t *testing.T, name string) string {
	t.Helper()
	file, err := process.Build(t.Context(), r.dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// kubectl runs kubectl as the administrator.
func (r *env) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.Kube.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// commandResult is the output and the exit status of a command.
type commandResult struct {
	out, err string
	status   int
}

// runShell runs a command line as the administrator, with our plugin, kubectl and Helm on the
// PATH.
func (r *env) runShell(t *testing.T, line string) commandResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), process.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kube.Kubeconfig(), "NO_PROXY="+r.Kube.HostAddress,
		"KUBECACHEDIR="+filepath.Join(r.dir, "cache"),
		"PATH="+r.dir+":"+filepath.Join(r.Kube.Dir, "bin")+":"+os.Getenv("PATH"))
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return commandResult{out.String(), complaints.String(), cmd.ProcessState.ExitCode()}
}
