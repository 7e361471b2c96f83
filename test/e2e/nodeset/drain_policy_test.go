//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testTimeoutPolicy: the operator does not wait for a job that runs longer than the timeout.
func testTimeoutPolicy(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "late", Replicas: 1,
		Spec: "  drainPolicy: {type: Timeout, timeout: 20s}"})
	job := c.startJob("late-0", 30)
	begin := time.Now()
	must(t, c.Scale(t.Context(), "late", 0))
	c.awaitSlurmState("late-0", "MIXED+DRAIN", "slurm-operator: scale-in")
	c.awaitCondition("Draining", "late-0", "job "+job)
	c.await("late-0 is deleted", func(context.Context) (bool, string) {
		w := c.mustWorkers()
		return len(w) == 0 || w["late-0"].Deleting, fmt.Sprint(w)
	})
	// The time of the choice has whole seconds.
	if took := time.Since(begin); took < 19*time.Second {
		t.Errorf("the worker was deleted %s after the choice", took)
	}
	c.expectRequeue(job, "the drain policy's timeout of 20s has passed")
}

// testForcePolicy: the operator does not wait for jobs.
func testForcePolicy(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "force", Replicas: 1, Spec: "  drainPolicy: {type: Force}"})
	job := c.startJob("force-0", 30)
	must(t, c.Scale(t.Context(), "force", 0))
	c.expectRequeue(job, "the drain policy is Force")
}

// expectRequeue deletes the one worker while it runs a job. Slurm requeues the job, and it runs on
// the next worker of that name.
func (c nodeSetEnv) expectRequeue(job, why string) {
	c.t.Helper()
	c.awaitWorkers()
	c.awaitEvent("SuccessfulDelete", why)
	c.awaitJob(job, "PENDING", "1")
	c.awaitSlurmState(c.worker(0), "FUTURE", "")
	must(c.t, c.Scale(c.t.Context(), c.spec.Name, 1))
	// Slurm lets a job that it queues again wait for two minutes.
	_, err := c.Slurm(c.t.Context(), "scontrol", "update", "JobId="+job, "StartTime=now")
	must(c.t, err)
	c.awaitJob(job, "RUNNING", "1")
	must(c.t, c.FinishJob(c.t.Context(), job))
	c.awaitJob(job, "COMPLETED", "1")
	c.deleteAndWait()
}

// awaitJob waits for the state of a job, and how often it was restarted.
func (c nodeSetEnv) awaitJob(id, state, restarts string) {
	c.t.Helper()
	c.await("job "+id+" is "+state, func(ctx context.Context) (bool, string) {
		job, err := c.Job(ctx, id)
		return job.State == state && job.Restarts == restarts, fmt.Sprint(job, err)
	})
}

// testForcedDeletion: the workers of a deleted NodeSet are deleted with their jobs.
func testForcedDeletion(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "forced", Replicas: 1, Spec: "  drainPolicy: {type: Force}"})
	job := c.startJob("forced-0", 30)
	c.delete()
	c.awaitJob(job, "PENDING", "1") // it still names the record
	_, err := s.Slurm(t.Context(), "scancel", job)
	must(t, err)
	c.awaitGone()
}

// testMissingCluster deletes a NodeSet whose Cluster is missing. Its condition names the remedy. When the Cluster
// exists again, the deletion continues.
func testMissingCluster(t *testing.T, s *nodeset.Env) {
	must(t, s.ApplyCluster(t.Context(), "gate", s))
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "orphan", Cluster: "gate", Replicas: 1})
	job := c.startJob("orphan-0", 30)
	before := c.mustWorkers()
	c.kubectl("--namespace", s.Values.Namespace, "delete", "cluster", "gate")
	c.delete()
	c.awaitCondition("Draining", "orphan-0", "create it again, or set spec.drainPolicy.type to Force")
	c.expectSteady("the busy worker", func() (bool, string) {
		diff := cmp.Diff(before, c.mustWorkers())
		return diff == "", diff
	})
	must(t, s.ApplyCluster(t.Context(), "gate", s))
	c.awaitCondition("Draining", "orphan-0", "job "+job)
	c.finishJob(job)
	c.awaitGone()
}

// testClaims: what happens to volumes when workers are deleted for good.
func testClaims(t *testing.T, s *nodeset.Env) {
	must(t, s.Volumes(t.Context(), 5))
	template := "  volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: e2e, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}]\n"
	kept := startNodeSet(t, s, nodeset.NodeSet{Name: "kept", Replicas: 1, Mount: "data", Spec: template})
	kept.runJob("kept-0", "echo here > /data/mark-$SLURM_JOB_NAME")
	must(t, kept.Scale(t.Context(), "kept", 0))
	kept.awaitWorkers()
	kept.awaitClaims("data-kept-0")
	must(t, kept.Scale(t.Context(), "kept", 1))
	kept.awaitSlurmState("kept-0", "IDLE", "")
	kept.runJob("kept-0", "grep here /data/mark-$SLURM_JOB_NAME")
	kept.deleteAndWait()
	kept.awaitClaims("data-kept-0")

	c := startNodeSet(t, s, nodeset.NodeSet{Name: "dropped", Replicas: 2, Mount: "data", Spec: template +
		"  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Delete}"})
	c.awaitClaims("data-dropped-0", "data-dropped-1")
	c.awaitStatus("slurmIdle", "2") // a worker whose registration the operator has not seen would be deleted first
	// Without the annotation, the worker that has been idle for longer would be deleted.
	c.kubectl("--namespace", s.Values.Namespace, "annotate", "pod", "dropped-1",
		"nodeset.slinky.slurm.net/pod-deletion-cost=-1")
	must(t, c.Scale(t.Context(), "dropped", 1))
	c.awaitWorkers("dropped-0")
	c.awaitClaims("data-dropped-0")
	c.deleteAndWait()
	c.awaitClaims()
	testChangedRetention(t, s, template)
}

// testChangedRetention: a left-over claim follows the policy at the time when it was left, except Retain.
func testChangedRetention(t *testing.T, s *nodeset.Env, template string) {
	t.Helper()
	policy := "  persistentVolumeClaimRetentionPolicy: {whenScaled: %s, whenDeleted: %s}"
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "vol", Replicas: 2, Mount: "data",
		Spec: template + fmt.Sprintf(policy, "Retain", "Delete")})
	job := c.startJob("vol-0", 30)
	must(t, c.Scale(t.Context(), "vol", 1))
	c.awaitWorkers("vol-0")
	c.awaitClaims("data-vol-0", "data-vol-1")
	c.spec.Replicas, c.spec.Spec = 1, template+fmt.Sprintf(policy, "Delete", "Retain")
	must(t, s.Apply(t.Context(), c.spec))
	c.await("the NodeSet owns no claim", func(ctx context.Context) (bool, string) {
		out, err := c.Kube.Kubectl(ctx, "--namespace", s.Values.Namespace, "get", "pvc",
			"--selector=app.kubernetes.io/instance=vol",
			"--output", "jsonpath={.items[*].metadata.ownerReferences[*].kind}")
		return err == nil && out == "", fmt.Sprint(out, err)
	})
	c.expectSteady("the claim that was left over",
		func() (bool, string) { out := c.listClaims(); return out == "data-vol-0 data-vol-1", out })
	must(t, c.Scale(t.Context(), "vol", 2))
	c.awaitSlurmState("vol-1", "IDLE", "")
	must(t, c.Scale(t.Context(), "vol", 1))
	c.awaitClaims("data-vol-0")
	c.finishJob(job)
	c.deleteAndWait()
	c.awaitClaims("data-vol-0")
}

// runJob runs a command on a worker as a job and expects it to succeed.
func (c nodeSetEnv) runJob(slurmNode, command string) {
	c.t.Helper()
	id := sbatch(c.t, c.Env, "-J", "runs", "-p", "all", "-w", slurmNode, "--wrap", command)
	c.await("job "+id+" has ended well", func(ctx context.Context) (bool, string) {
		job, err := c.Job(ctx, id)
		return job.CompletedOnce(), fmt.Sprint(job, err)
	})
}

// awaitClaims waits until these are the NodeSet's claims.
func (c nodeSetEnv) awaitClaims(want ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("claims are ", want), func(context.Context) (bool, string) {
		out := c.listClaims()
		return out == strings.Join(want, " "), out
	})
}

// listClaims returns the names of the NodeSet's claims.
func (c nodeSetEnv) listClaims() string {
	c.t.Helper()
	out, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Values.Namespace, "get", "pvc",
		"--selector=app.kubernetes.io/instance="+c.spec.Name,
		"--output", "jsonpath={.items[*].metadata.name}")
	must(c.t, err)
	return out
}
