//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testNamedAtDeletion: held jobs name a worker and a FUTURE record of a NodeSet that is deleted. Both records and the NodeSet stay until
// the jobs are cancelled.
func testNamedAtDeletion(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "wanted", Replicas: 1})
	c.awaitSlurmState("wanted-4", "FUTURE", "")
	ofWorker, ofRecord := c.holdJob("wanted-0"), c.holdJob("wanted-4")
	c.delete()
	c.awaitWorkers()
	c.awaitRecordNames("wanted-0", "wanted-4")
	c.awaitCondition("Draining", "RecordsLeft", "wanted-0", "job "+ofWorker)
	c.expectHeldThroughReconfigure(ofWorker, ofRecord)
	runScript(t, s, "scancel "+ofWorker)
	c.awaitRecordNames("wanted-4")
	c.awaitCondition("Draining", "RecordsLeft", "wanted-4", "job "+ofRecord)
	runScript(t, s, "scancel "+ofRecord)
	c.awaitGone()
}

// testNamedWithoutMaximum: a held job names a worker that scale-in removes, of a NodeSet without a maximum. This worker's record stays, and
// another worker's record is deleted. The job runs when the worker is back.
func testNamedWithoutMaximum(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "open", Replicas: 3, NoMaximum: true})
	job := c.holdJob("open-1")
	running := c.startJob("open-0", 30) // so that this worker stays
	must(t, s.Scale(t.Context(), "open", 1))
	c.awaitWorkers("open-0")
	c.awaitSlurmState("open-1", "FUTURE", "")
	c.awaitRecordNames("open-0", "open-1")
	c.expectHeldThroughReconfigure(job)
	c.finishJob(running)
	must(t, s.Scale(t.Context(), "open", 2))
	c.awaitSlurmState("open-1", "IDLE", "")
	runScript(t, s, "scontrol release "+job)
	c.awaitCompleted(job)
	c.deleteAndWait()
}

// testNamedByRunningJob: a job runs on one worker, and still requires another one, which it has released and which is removed. The job
// continues when slurmctld reads its configuration again.
func testNamedByRunningJob(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "shrunk", Replicas: 2, NoMaximum: true})
	job, err := s.SubmitJob(t.Context(), "shrunk-[0-1]", 30)
	must(t, err)
	c.awaitRunning(job)
	stays, leaves := "shrunk-0", "shrunk-1"
	if c.showJob(job, " BatchHost="+leaves+" ") { // which a job cannot give back
		stays, leaves = leaves, stays
	}
	runScript(t, s, "cd /tmp; scontrol update jobid="+job+" nodelist="+stays)
	c.await("the job has given one node back", func(context.Context) (bool, string) {
		return c.showJob(job, " NodeList="+stays+" ") && c.showJob(job, " ReqNodeList=shrunk-[0-1] "), ""
	})
	must(t, s.Scale(t.Context(), "shrunk", 1))
	c.awaitWorkers(stays)
	c.awaitSlurmState(leaves, "FUTURE", "")
	runScript(t, s, "scontrol reconfigure")
	c.expectSteady("the job runs", func() (bool, string) {
		have, err := s.Job(t.Context(), job)
		return err == nil && have.State == "RUNNING" && have.Restarts == "0", fmt.Sprint(have, err)
	})
	c.finishJob(job)
	c.deleteAndWait()
}

// showJob reports whether slurmctld shows a text of a job.
func (c nodeSetEnv) showJob(job, text string) bool {
	c.t.Helper()
	out, err := c.Slurm(c.t.Context(), "scontrol", "show", "job", job, "--oneliner")
	must(c.t, err)
	return strings.Contains(out, text)
}

// testNamedKubeNode: a held job names the worker of a Kubernetes node that gets another Slurm node name. The record of the
// old name stays, and the job runs when the name is back.
func testNamedKubeNode(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "perhost", Spec: "  scalingMode: DaemonSet"})
	c.awaitSlurmState("node", "IDLE", "")
	job := c.holdJob("node")
	const override = "nodeset.slinky.slurm.net/hostname-override"
	c.kubectl("annotate", "node", "node", override+"=renamed")
	t.Cleanup(func() {
		_, _ = s.Kube.Kubectl(context.WithoutCancel(t.Context()), "annotate", "node", "node", override+"-")
	})
	c.awaitSlurmState("renamed", "IDLE", "")
	c.awaitSlurmState("node", "FUTURE", "")
	c.expectHeldThroughReconfigure(job)
	c.kubectl("annotate", "node", "node", override+"-")
	c.awaitSlurmState("node", "IDLE", "")
	runScript(t, s, "scontrol release "+job)
	c.awaitCompleted(job)
	c.delete()
	c.awaitDeleted()
	out, err := s.Slurm(t.Context(), "scontrol", "show", "nodes", "--future", "--oneliner")
	must(t, err)
	if strings.Contains(out, "NodeName=node ") || strings.Contains(out, "NodeName=renamed ") {
		t.Errorf("records of a NodeSet that is gone:\n%s", out)
	}
}

// holdJob submits a held job that names a Slurm node.
func (c nodeSetEnv) holdJob(slurmNode string) string {
	c.t.Helper()
	return sbatch(c.t, c.Env, "-J", "names", "-H", "-p", "all", "-w", slurmNode, "--wrap", "true")
}

// expectHeldThroughReconfigure makes slurmctld read its configuration again. slurmctld would then end jobs that name a node which it does
// not have. It expects the jobs to keep waiting.
func (c nodeSetEnv) expectHeldThroughReconfigure(jobs ...string) {
	c.t.Helper()
	runScript(c.t, c.Env, "scontrol reconfigure")
	c.expectSteady("the jobs wait", func() (bool, string) {
		for _, job := range jobs {
			if have, err := c.Job(c.t.Context(), job); err != nil || have.State != "PENDING" {
				return false, fmt.Sprint(job, have, err)
			}
		}
		return true, ""
	})
}

// awaitRecordNames waits until Slurm has exactly these nodes of the NodeSet.
func (c nodeSetEnv) awaitRecordNames(want ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("the records are ", want), func(ctx context.Context) (bool, string) {
		out, err := c.Slurm(ctx, "scontrol", "show", "nodes", "--future", "--oneliner")
		var names []string
		for line := range strings.Lines(out) {
			name, _, _ := strings.Cut(line, " ")
			if name, found := strings.CutPrefix(name, "NodeName="); found && strings.HasPrefix(name, c.spec.Name+"-") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return err == nil && slices.Equal(names, want), fmt.Sprint(names, err)
	})
}
