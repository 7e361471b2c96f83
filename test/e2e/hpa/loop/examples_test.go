//go:build e2e

package loop_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestEveryExampleScales applies each manifest of docs/examples/hpa and checks that it scales the
// NodeSet.
func TestEveryExampleScales(t *testing.T) {
	t.Parallel()
	l := startLoop(t, loop.Config{Replicas: 1}, "required-nodes")
	const limit = 2*time.Second + slack
	awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+limit)

	t.Run("pending-jobs", func(t *testing.T) {
		// While some jobs run and others are pending, the larger of both numbers is less than their sum.
		// Only a window that is longer than workers take to start keeps the three workers. The HPA must see
		// three pending jobs first, so no job may start on a worker that is still being removed.
		awaitNoWorkers(t, l)
		requireNoError(t, l.ApplyHPAWithWindow(t.Context(), "pending-jobs", int64((10*time.Minute).Seconds())))
		held := sbatch(t, l, "--hold", "--exclusive", "--wrap", "sleep 300") // no reason for a worker
		first := sbatch(t, l, "--exclusive", "--array=1-3", "--wrap", "sleep 300")
		awaitReplicas(t, l, 3, limit)
		awaitRunning(t, l, 3)
		process.AwaitValue(t, "slurm_nodeset_busy_nodes", "3", func(ctx context.Context) (string, error) {
			m, err := l.Metric(ctx, "slurm_nodeset_busy_nodes", "")
			return fmt.Sprint(m.Value), err
		})
		requireNoError(t, l.ApplyHPA(t.Context(), "pending-jobs"))
		requireReplicas(t, l, 3, 5*time.Second) // no job is pending, but three nodes are busy
		runSlurm(t, l, "scancel", first)
		awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+limit+slack)
		runSlurm(t, l, "scancel", held)
	})
	t.Run("keep-one-warm", func(t *testing.T) {
		requireNoError(t, l.ApplyHPA(t.Context(), "keep-one-warm"))
		awaitReplicas(t, l, 1, limit)
		id := sbatch(t, l, "-N2", "--wrap", "sleep 300")
		awaitReplicas(t, l, 2, limit)
		runSlurm(t, l, "scancel", id)
		awaitReplicas(t, l, 1, loop.WindowSeconds*time.Second+limit)
		requireReplicas(t, l, 1, 5*time.Second)
	})
	t.Run("business-hours", func(t *testing.T) {
		requireNoError(t, l.ApplyHPA(t.Context(), "required-nodes"))
		awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+limit)
		commands := applyBusinessHours(t, l)
		runFloorCronJob(t, l, commands["day"])
		awaitReplicas(t, l, 4, limit)
		runFloorCronJob(t, l, commands["night"])
		awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+limit)
	})
}

// awaitNoWorkers waits until no nodes are left in the partition. Replicas fall before workers are drained.
func awaitNoWorkers(t *testing.T, l *loop.Loop) {
	t.Helper()
	process.AwaitValue(t, "the workers", "", func(ctx context.Context) (string, error) {
		out, err := l.Slurm.Run(ctx, "", "sinfo", "-h", "-N", "-p", loop.NodeSet, "-o", "%N")
		return strings.TrimSpace(out), err
	})
}

// awaitRunning waits until the given number of jobs run.
func awaitRunning(t *testing.T, l *loop.Loop, want int) {
	t.Helper()
	requireNoError(t, process.Retry(t.Context(), slack, func(ctx context.Context) error {
		out, err := l.Slurm.Run(ctx, "", "squeue", "-h", "-r", "-t", "R")
		if err != nil {
			return err
		}
		if running := strings.Count(out, "\n"); running != want {
			return fmt.Errorf("%d jobs run, want %d:\n%s\n%s", running, want,
				runSlurm(t, l, "squeue"), runSlurm(t, l, "sinfo", "-N", "-l"))
		}
		return nil
	}))
}

// applyBusinessHours applies the manifest and returns the arguments of its CronJobs, by "day" and
// "night".
func applyBusinessHours(t *testing.T, l *loop.Loop) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "examples", "hpa", "business-hours.yaml"))
	requireNoError(t, err)
	manifest := strings.NewReplacer("name: gpu", "name: "+loop.NodeSet, "[gpu]", "["+loop.NodeSet+"]",
		"hpa, gpu,", "hpa, "+loop.NodeSet+",").Replace(string(text))
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	requireNoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	_, err = l.Kube.Kubectl(t.Context(), "apply", "--namespace", loop.Namespace, "--filename", file)
	requireNoError(t, err)
	commands := map[string][]string{}
	for _, document := range strings.Split(manifest, "\n---\n") {
		var job batchv1.CronJob
		requireNoError(t, yaml.Unmarshal([]byte(document), &job))
		if job.Kind == "CronJob" {
			suffix := job.Name[strings.LastIndex(job.Name, "-")+1:]
			commands[suffix] = job.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args
		}
	}
	return commands
}

// runFloorCronJob runs the kubectl command of a CronJob with the rights of its service account.
func runFloorCronJob(t *testing.T, l *loop.Loop, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Fatal("the CronJob has no command")
	}
	_, err := l.Kube.Kubectl(t.Context(), append([]string{"--namespace", loop.Namespace,
		"--as", "system:serviceaccount:" + loop.Namespace + ":" + loop.NodeSet + "-floor"}, args...)...)
	requireNoError(t, err)
}
