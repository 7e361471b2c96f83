//go:build e2e

package migrate

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

var long = flag.Bool("long", false, "run the pages")

const (
	namespace = "slurm" // of the NodeSet
	nodeSet   = "gpu"   // also its partition
)

// env is a Slurm cluster, a Kubernetes cluster with a NodeSet, and a Prometheus that scrapes Slurm.
type env struct {
	*loop.Loop
	dir        string
	pods       map[string]*pod
	prometheus *prometheus
	watch      *watch
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newEnv starts everything that exists before a migration, except the other autoscaler.
func newEnv(t *testing.T) *env {
	t.Helper()
	if !*long {
		t.Skip("it takes minutes, run it with -long")
	}
	if why := loop.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	if out, err := exec.Command("../../../hack/look/install").CombinedOutput(); err != nil {
		t.Fatalf("installing Prometheus: %v\n%s", err, out)
	}
	// KEDA's HPA has no behavior, so it keeps the highest number of the last five minutes, even one of the former query.
	kube := realkube.Config{ControllerManagerArgs: []string{"--horizontal-pod-autoscaler-downscale-stabilization=3s"}}
	l, err := loop.Start(t.Context(), loop.Config{Namespace: namespace, NodeSet: nodeSet, Replicas: 1, Bare: true, Kube: kube})
	must(t, err)
	e := &env{Loop: l, dir: t.TempDir(), pods: map[string]*pod{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.Logs())
		}
		must(t, l.Close())
	})
	e.prometheus = e.startPrometheus(t, e.startExporter(t))
	e.watch = e.startWatch(t)
	return e
}

// startExporter starts the exporter that Prometheus scrapes before the migration.
func (e *env) startExporter(t *testing.T) string {
	t.Helper()
	program, err := process.Build(t.Context(), e.dir, "slurm-exporter")
	must(t, err)
	address := process.FreeAddress(t)
	process.Start(t, program, "--web.listen-address="+address, "--slurm.poll-interval=1s",
		"--slurm.url="+e.Slurm.URL, "--slurm.token-file="+e.Slurm.TokenFile, "--compat=openmetrics")
	process.Await(t, func() error { return process.CheckOK("http://" + address + "/-/ready") })
	return address
}

// kubectl runs kubectl as the administrator.
func (e *env) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.Kube.Kubectl(t.Context(), args...)
	must(t, err)
	return strings.TrimSpace(out)
}

// submit submits jobs of one CPU each, and with "--exclusive" of one node each. It returns their ids.
func (e *env) submit(t *testing.T, count int, args ...string) []string {
	t.Helper()
	var ids []string
	for range count {
		command := append([]string{"sbatch", "--parsable", "-o", "/dev/null", "-p", nodeSet, "-n1"}, args...)
		out, err := e.Slurm.Run(t.Context(), "alice", append(command, "--wrap", "sleep 3600")...)
		must(t, err)
		ids = append(ids, strings.TrimSpace(out))
	}
	return ids
}

// cancel cancels jobs.
func (e *env) cancel(t *testing.T, ids []string) {
	t.Helper()
	_, err := e.Slurm.Run(t.Context(), "", append([]string{"scancel"}, ids...)...)
	must(t, err)
}

// awaitReplicas waits until the NodeSet has the replicas.
func (e *env) awaitReplicas(t *testing.T, want int) {
	t.Helper()
	took, err := e.AwaitReplicas(t.Context(), want, process.Patience)
	if err != nil {
		t.Fatalf("%v\n%s", err, e.describeAutoscalers())
	}
	t.Logf("%d workers after %.1f s", want, took.Seconds())
}

// awaitRunning waits until the given number of jobs run.
func (e *env) awaitRunning(t *testing.T, want int) {
	t.Helper()
	process.AwaitValue(t, "the number of running jobs", fmt.Sprint(want), func(ctx context.Context) (string, error) {
		out, err := e.Slurm.Run(ctx, "", "squeue", "-h", "-r", "-t", "R")
		return fmt.Sprint(strings.Count(out, "\n")), err
	})
}

// describeAutoscalers returns kubectl's description of all autoscalers, for failures.
func (e *env) describeAutoscalers() string {
	out := ""
	for _, kind := range []string{"hpa", "scaledobjects", "events"} {
		text, err := e.Kube.Kubectl(context.Background(), "describe", kind, "--namespace", namespace)
		out += cmp.Or(text, fmt.Sprintln(err))
	}
	for name, p := range e.pods {
		if p.process != nil {
			out += "== " + name + "\n" + p.process.Log()
		}
	}
	return out
}
