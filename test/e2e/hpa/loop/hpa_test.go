//go:build e2e

package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// slack allows for a busy machine. make bench measures the speed of the loop; these tests do not.
const slack = process.Patience

// startLoop starts a loop with the HPA of an example.
func startLoop(t *testing.T, config loop.Config, example string) *loop.Loop {
	t.Helper()
	if why := loop.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	l, err := loop.Start(t.Context(), config)
	requireNoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(l.Logs())
		}
		requireNoError(t, l.Close())
	})
	requireNoError(t, l.ApplyHPA(t.Context(), example))
	return l
}

func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sbatch submits a job as alice to the NodeSet's partition and returns its id. The job is cancelled
// when the test ends.
func sbatch(t *testing.T, l *loop.Loop, args ...string) string {
	t.Helper()
	command := append([]string{"sbatch", "--parsable", "-o", "/dev/null", "-p", loop.NodeSet}, args...)
	out, err := l.Slurm.Run(t.Context(), "alice", command...)
	requireNoError(t, err)
	id := strings.TrimSpace(out)
	t.Cleanup(func() {
		_, _ = l.Slurm.Run(context.WithoutCancel(t.Context()), "", "scancel", id)
	})
	return id
}

func runSlurm(t *testing.T, l *loop.Loop, args ...string) string {
	t.Helper()
	out, err := l.Slurm.Run(t.Context(), "", args...)
	requireNoError(t, err)
	return out
}

func awaitReplicas(t *testing.T, l *loop.Loop, want int, limit time.Duration) time.Duration {
	t.Helper()
	took, err := l.AwaitReplicas(t.Context(), want, limit)
	requireNoError(t, err)
	return took
}

func requireReplicas(t *testing.T, l *loop.Loop, want int, duration time.Duration) {
	t.Helper()
	requireNoError(t, l.RequireStableReplicas(t.Context(), want, duration))
}

func metricValue(t *testing.T, l *loop.Loop, name string) float64 {
	t.Helper()
	m, err := l.Metric(t.Context(), name, "")
	requireNoError(t, err)
	return m.Value
}

// TestTheQueueScalesANodeSetFromZeroAndBack tests the whole loop on both releases.
func TestTheQueueScalesANodeSetFromZeroAndBack(t *testing.T) {
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			l := startLoop(t, loop.Config{Slurm: release}, "required-nodes")
			const poll, sync = time.Second, time.Second

			requireReplicas(t, l, 0, 3*time.Second)
			id := sbatch(t, l, "-N3", "--wrap", "sleep 8")
			took := awaitReplicas(t, l, 3, poll+sync+slack)
			t.Logf("sbatch -N3: three replicas after %v", took.Round(10*time.Millisecond))
			awaitDone(t, l, id)
			took = awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+poll+sync+slack)
			t.Logf("the job has ended: zero replicas after %v, including the window", took.Round(10*time.Millisecond))

			id = sbatch(t, l, "--exclusive", "--array=1-20%4", "--wrap", "sleep 2")
			took = awaitReplicas(t, l, 4, poll+sync+slack)
			t.Logf("an array of 20 tasks, four at a time: four replicas after %v", took.Round(10*time.Millisecond))
			awaitDone(t, l, id)
			awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+poll+sync+2*slack)

			t.Run("jobs that nodes would not help require none", func(t *testing.T) { testIneligibleJobs(t, l) })
			t.Run("cancelled jobs require no nodes", func(t *testing.T) { testCancelledJobs(t, l) })
			t.Run("a job that is too large is reported but not counted", func(t *testing.T) { testTooLargeJob(t, l) })
			requireNoLostJobs(t, l)
		})
	}
}

// awaitDone waits until all tasks of a job have left the queue.
func awaitDone(t *testing.T, l *loop.Loop, id string) {
	t.Helper()
	requireNoError(t, process.Retry(t.Context(), slack, func(ctx context.Context) error {
		// On a busy machine a command sometimes fails because its token is created too late.
		out, err := l.Slurm.Run(ctx, "", "squeue", "-h", "-t", "PD,R,CG,CF", "-j", id)
		if err != nil || strings.TrimSpace(out) != "" {
			return fmt.Errorf("job %s has not ended: %w\n%s", id, err, out)
		}
		return nil
	}))
}

func testIneligibleJobs(t *testing.T, l *loop.Loop) {
	ids := []string{sbatch(t, l, "-H", "--wrap", "sleep 1")}
	ids = append(ids,
		sbatch(t, l, "-d", "afterok:"+ids[0], "--wrap", "sleep 1"),
		sbatch(t, l, "--begin=now+1hour", "--wrap", "sleep 1"),
		sbatch(t, l, "--qos=capped", "--wrap", "sleep 1"))
	requireReplicas(t, l, 0, 6*time.Second)
	if n := metricValue(t, l, "slurm_partition_pending_jobs"); n != float64(len(ids)) {
		t.Errorf("%v jobs are pending, want %d", n, len(ids))
	}
	if n := metricValue(t, l, "slurm_nodeset_required_nodes"); n != 0 {
		t.Errorf("the jobs require %v nodes", n)
	}
	t.Log(runSlurm(t, l, "squeue", "-h", "-o", "%i %r"))
	runSlurm(t, l, append([]string{"scancel"}, ids...)...)
}

func testCancelledJobs(t *testing.T, l *loop.Loop) {
	id := sbatch(t, l, "-N2", "--wrap", "sleep 600")
	awaitReplicas(t, l, 2, 2*time.Second+slack)
	begin := time.Now()
	runSlurm(t, l, "scancel", id)
	awaitReplicas(t, l, 0, loop.WindowSeconds*time.Second+2*time.Second+slack)
	// The last sync that wanted two replicas may precede the end of the jobs.
	if took := time.Since(begin); took < loop.WindowSeconds*time.Second-time.Second {
		t.Errorf("the NodeSet went to zero after %v, within the stabilization window", took)
	}
}

func testTooLargeJob(t *testing.T, l *loop.Loop) {
	id := trySbatch(t, l, fmt.Sprintf("-N%d", 2*loop.MaxWorkers+3), "--wrap", "sleep 1")
	if id == "" {
		t.Log("Slurm refuses the job at submission")
		return
	}
	requireReplicas(t, l, 0, 5*time.Second)
	if n := metricValue(t, l, "slurm_nodeset_unsatisfiable_jobs"); n != 1 {
		t.Errorf("%v jobs are unsatisfiable, want 1", n)
	}
	if n := metricValue(t, l, "slurm_nodeset_required_nodes"); n != 0 {
		t.Errorf("the job requires %v nodes", n)
	}
	runSlurm(t, l, "scancel", id)
}

// trySbatch is sbatch for a job that Slurm may refuse. It returns "" in that case.
func trySbatch(t *testing.T, l *loop.Loop, args ...string) string {
	t.Helper()
	command := append([]string{"sbatch", "--parsable", "-o", "/dev/null", "-p", loop.NodeSet}, args...)
	out, err := l.Slurm.Run(t.Context(), "alice", command...)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// requireNoLostJobs checks that no job failed, lost its node or was requeued.
func requireNoLostJobs(t *testing.T, l *loop.Loop) {
	t.Helper()
	out := runSlurm(t, l, "scontrol", "show", "job", "-o")
	for line := range strings.Lines(out) {
		if strings.Contains(line, "Reason=BadConstraints") {
			continue // refused at submission and kept as a failed job
		}
		failed := strings.Contains(line, "JobState=NODE_FAIL") || strings.Contains(line, "JobState=FAILED")
		if failed || !strings.Contains(line, "Restarts=0") {
			t.Errorf("a job was lost or requeued: %s", line)
		}
	}
}
