//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// startEnv starts an Env, or skips the test where it cannot run.
func startEnv(t *testing.T, of release) *nodeset.Env {
	t.Helper()
	if why := nodeset.Missing(); why != "" {
		t.Skip(why)
	}
	s, err := nodeset.Start(t.Context(), of.version, of.controller, t.Logf)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Logs())
		}
		must(t, s.Close())
	})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sbatch submits a job and returns its id.
func sbatch(t *testing.T, s *nodeset.Env, args ...string) string {
	t.Helper()
	out, err := s.Slurm(t.Context(), append([]string{"sbatch", "--parsable", "-o", "/out/%x-%A-%a-%N"}, args...)...)
	must(t, err)
	return out
}

func await(t *testing.T, s *nodeset.Env, what string, limit time.Duration,
	isTrue func(context.Context) (bool, string)) {
	t.Helper()
	_, err := s.Await(t.Context(), what, limit, isTrue)
	must(t, err)
}

// testFromZeroAndBack runs the whole loop: jobs wait, a stock HPA scales NodeSets from zero, and slurmds in pods run
// the jobs. In the end everything is at zero again, and no job is lost.
func testFromZeroAndBack(t *testing.T, s *nodeset.Env) {
	must(t, s.Apply(t.Context(), nodeset.NodeSet{Name: "cpu", ExtraConf: "CPUs=2 RealMemory=500", Max: 6}))
	must(t, s.Apply(t.Context(), nodeset.NodeSet{Name: "gpu", ExtraConf: "CPUs=2 RealMemory=500 Gres=gpu:h100:2",
		Max: 2}))
	awaitSubmittable(t, s, "cpu", "gpu")
	runJobs(t, s)
	awaitZero(t, s, "cpu", "gpu")
}

// awaitSubmittable waits until Slurm accepts jobs for workers that do not exist yet.
func awaitSubmittable(t *testing.T, s *nodeset.Env, nodeSets ...string) {
	t.Helper()
	for _, name := range nodeSets {
		await(t, s, name+" is submittable", process.Patience, func(ctx context.Context) (bool, string) {
			return conditionOf(ctx, s, name, "Submittable", "True")
		})
	}
}

// conditionOf reports whether a condition of a NodeSet has a status, and returns its text.
func conditionOf(ctx context.Context, s *nodeset.Env, name, kind, status string) (bool, string) {
	var n struct {
		Status struct {
			Conditions []struct{ Type, Status, Reason, Message string }
		}
	}
	if err := s.Get(ctx, &n, "nodeset", name); err != nil {
		return false, err.Error()
	}
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status == status, fmt.Sprintf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return false, "no condition " + kind
}

// runJobs submits jobs of several shapes and waits for all of them.
func runJobs(t *testing.T, s *nodeset.Env) {
	t.Helper()
	sbatch(t, s, "-J", "work", "--array=1-6", "--exclusive", "--wrap", "sleep 5")
	sbatch(t, s, "-J", "work", "-N2", "-C", "cpu", "--exclusive", "--wrap", "srun hostname; sleep 3")
	sbatch(t, s, "-J", "work", "-p", "gpu", "--gres=gpu:h100:1", "--wrap", `test -n "$CUDA_VISIBLE_DEVICES"; sleep 3`)
	expectTooLargeReported(t, s)
	begin := time.Now()
	await(t, s, "the first job runs", process.Patience, func(ctx context.Context) (bool, string) {
		jobs, err := s.Jobs(ctx, "work")
		return slices.Contains(slices.Collect(maps.Values(jobs)), "RUNNING"), fmt.Sprint(jobs, err)
	})
	await(t, s, "all jobs are done", process.Patience, func(ctx context.Context) (bool, string) {
		jobs, err := s.Jobs(ctx, "work")
		done := err == nil && len(jobs) == 8
		for _, state := range jobs {
			done = done && state == "COMPLETED"
		}
		return done, fmt.Sprint(jobs, err)
	})
	t.Logf("8 jobs in %.1f s", time.Since(begin).Seconds())
	expectNotRequeued(t, s)
}

// expectTooLargeReported submits a job that can never fit. Slurm refuses or accepts it. An accepted
// job is reported and cancelled.
func expectTooLargeReported(t *testing.T, s *nodeset.Env) {
	t.Helper()
	out, err := s.Slurm(t.Context(), "sbatch", "--parsable", "-p", "cpu", "-N7", "--wrap", "true")
	if err != nil {
		t.Log("a job of 7 nodes is refused")
		return
	}
	await(t, s, "the job of 7 nodes is reported", process.Patience, func(ctx context.Context) (bool, string) {
		reported, err := s.Kube.Kubectl(ctx, "get", "--raw",
			"/apis/custom.metrics.k8s.io/v1beta2/namespaces/"+s.Values.Namespace+
				"/nodesets.slinky.slurm.net/cpu/slurm_nodeset_unsatisfiable_jobs")
		return err == nil && strings.Contains(reported, `"value":"1"`), fmt.Sprint(reported, err)
	})
	_, err = s.Slurm(t.Context(), "scancel", out)
	must(t, err)
}

func expectNotRequeued(t *testing.T, s *nodeset.Env) {
	t.Helper()
	out, err := s.Slurm(t.Context(), "scontrol", "show", "job")
	must(t, err)
	for _, job := range strings.Split(out, "\n\n") {
		if strings.Contains(job, "JobState=COMPLETED") &&
			(!strings.Contains(job, "ExitCode=0:0") || !strings.Contains(job, "Restarts=0")) {
			t.Errorf("a job failed or was requeued:\n%s", job)
		}
	}
}

// awaitZero waits until neither Kubernetes nor Slurm has a worker.
func awaitZero(t *testing.T, s *nodeset.Env, nodeSets ...string) {
	t.Helper()
	for _, name := range nodeSets {
		await(t, s, name+" is at zero", process.Patience, func(ctx context.Context) (bool, string) {
			pods, err := s.Pods(ctx, name)
			return err == nil && len(pods) == 0, fmt.Sprint(pods, err)
		})
	}
	await(t, s, "sinfo has no node", process.Patience, func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "sinfo", "--noheader", "-N", "-o", "%N %T %E")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
}
