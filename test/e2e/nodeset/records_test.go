//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testNamedRecord: a held job names a worker that does not exist yet. Its record stays when the other records above a lower maximum are
// deleted. It also stays while the maximum is unknown, and when slurmctld reads its configuration again. Then the job runs there.
func testNamedRecord(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "named", Replicas: 1})
	c.awaitSlurmState("named-5", "FUTURE", "")
	job := c.submitHeldJob("-p", "all", "-w", "named-5")
	c.setMaximum("2")
	c.awaitCondition("Draining", "named-5", "job "+job)
	c.awaitFutureRecords("named", "named-1", "named-5")
	c.setMaximum("null")
	c.expectFutureRecords("named", "named-1", "named-5")
	_, err := s.Slurm(t.Context(), "scontrol", "reconfigure")
	must(t, err)
	c.expectSteady("the job waits", func() (bool, string) {
		have, err := s.Job(t.Context(), job)
		return err == nil && have.State == "PENDING", fmt.Sprint(have, err)
	})
	c.setMaximum("6")
	must(t, s.Scale(t.Context(), "named", 6))
	c.awaitSlurmState("named-5", "IDLE", "")
	c.releaseJob(job)
	c.deleteAndWait()
}

// testNeededRecords: a held job requests more nodes than a lower maximum. The records above it stay, and Slurm accepts another such job.
// The records are deleted when the job requests fewer nodes. With the maximum 0, the records of its nodes stay until it runs there.
func testNeededRecords(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "needed"})
	c.awaitSlurmState("needed-5", "FUTURE", "")
	job := c.submitHeldJob("-p", "needed", "-N", "6")
	c.setMaximum("3")
	c.awaitCondition("Draining", "needed-3", "job "+job+" needs 6 nodes of partition needed")
	c.expectFutureRecords("needed", "needed-0", "needed-1", "needed-2", "needed-3", "needed-4", "needed-5")
	_, err := s.Slurm(t.Context(), "scancel", c.submitHeldJob("-p", "needed", "-N", "6"))
	must(t, err)
	_, err = s.Slurm(t.Context(), "scontrol", "update", "jobid="+job, "numnodes=3")
	must(t, err)
	c.awaitFutureRecords("needed", "needed-0", "needed-1", "needed-2")
	c.setMaximum("0")
	c.awaitCondition("Draining", "needed-0", "job "+job)
	c.expectFutureRecords("needed", "needed-0", "needed-1", "needed-2")
	c.setMaximum("3")
	must(t, s.Scale(t.Context(), "needed", 3))
	c.awaitSlurmState("needed-2", "IDLE", "")
	c.releaseJob(job)
	c.deleteAndWait()
}

// testEditsOfRecords: an autoscaler is deleted and created again, a number is missing for one edit, and names get another padding.
// slurmctld reads its configuration in between. Records that held jobs name, exclude or need stay, and the jobs run.
func testEditsOfRecords(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "edited", Max: 6})
	c.awaitSlurmState("edited-5", "FUTURE", "")
	jobs := []string{c.submitHeldJob("-p", "all", "-w", "edited-5"),
		c.submitHeldJob("-p", "all", "-C", "edited", "-N", "5", "-x", "edited-1")}
	all := []string{"edited-0", "edited-1", "edited-2", "edited-3", "edited-4", "edited-5"}
	edit := func(args ...string) {
		t.Helper()
		_, err := s.Kube.Kubectl(t.Context(), append([]string{"--namespace", s.Values.Namespace}, args...)...)
		must(t, err)
	}
	expectWaiting := func() {
		t.Helper()
		_, err := s.Slurm(t.Context(), "scontrol", "reconfigure")
		must(t, err)
		c.expectSteady("the jobs wait", func() (bool, string) {
			one, err := s.Job(t.Context(), jobs[0])
			other, otherErr := s.Job(t.Context(), jobs[1])
			return err == nil && otherErr == nil && one.State == "PENDING" && other.State == "PENDING", fmt.Sprint(one, other, err, otherErr)
		})
	}

	edit("delete", "horizontalpodautoscaler", "edited")
	c.expectFutureRecords("edited", all...)
	expectWaiting()
	must(t, s.Apply(t.Context(), c.spec))
	c.expectFutureRecords("edited", all...)

	edit("patch", "nodeset", "edited", "--type=merge", `--patch={"spec": {"extraConf": "RealMemory=500"}}`)
	c.expectFutureRecords("edited", all...)
	expectWaiting()
	edit("patch", "nodeset", "edited", "--type=merge", `--patch={"spec": {"extraConf": "CPUs=2 RealMemory=500"}}`)

	for _, names := range []struct{ patch, back, name string }{
		{`{"spec": {"ordinalPadding": 3}}`, `{"spec": {"ordinalPadding": 0}}`, "edited-005"},
		{`{"spec": {"template": {"spec": {"hostname": "other-"}}}}`, `{"spec": {"template": {"spec": {"hostname": null}}}}`, "other-5"},
	} {
		edit("patch", "nodeset", "edited", "--type=merge", "--patch="+names.patch)
		c.await("the new names are there, and never fewer records", func(ctx context.Context) (bool, string) {
			have, err := c.FutureRecords(ctx, "edited")
			if err == nil && (len(have) < len(all) || !slices.Contains(have, "edited-5")) {
				t.Fatalf("the records are %v", have)
			}
			return err == nil && slices.Contains(have, names.name), fmt.Sprint(have, err)
		})
		expectWaiting()
		edit("patch", "nodeset", "edited", "--type=merge", "--patch="+names.back)
		c.awaitFutureRecords("edited", all...)
	}

	for _, job := range jobs { // the autoscaler starts the workers
		c.releaseJob(job)
	}
	c.deleteAndWait()
}

// submitHeldJob submits a job that runs once it is released.
func (c nodeSetEnv) submitHeldJob(args ...string) string {
	c.t.Helper()
	args = append([]string{"sbatch", "--parsable", "-H", "-o", "/out/%x-%j-%N", "--wrap", "true"}, args...)
	job, err := c.Slurm(c.t.Context(), args...)
	must(c.t, err)
	return job
}

// releaseJob releases a held job and waits until it has completed.
func (c nodeSetEnv) releaseJob(job string) {
	c.t.Helper()
	_, err := c.Slurm(c.t.Context(), "scontrol", "release", job)
	must(c.t, err)
	c.await("job "+job+" has ended well", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.CompletedOnce(), fmt.Sprint(have, err)
	})
}

// awaitFutureRecords waits until exactly these FUTURE records have the feature.
func (c nodeSetEnv) awaitFutureRecords(feature string, want ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("the FUTURE records are ", want), func(ctx context.Context) (bool, string) {
		have, err := c.FutureRecords(ctx, feature)
		return err == nil && slices.Equal(have, want), fmt.Sprint(have, err)
	})
}

// expectFutureRecords expects exactly these FUTURE records with the feature for longer than surplus ones are kept.
func (c nodeSetEnv) expectFutureRecords(feature string, want ...string) {
	c.t.Helper()
	c.expectSteadyFor(nodeset.SurplusRecordsKept+3*time.Second, fmt.Sprint("the FUTURE records are ", want), func() (bool, string) {
		have, err := c.FutureRecords(c.t.Context(), feature)
		return err == nil && slices.Equal(have, want), fmt.Sprint(have, err)
	})
}

// setMaximum sets maxReplicas to a number, or removes it with "null".
func (c nodeSetEnv) setMaximum(value string) {
	c.t.Helper()
	_, err := c.Kube.Kubectl(c.t.Context(), "--namespace", c.Values.Namespace, "patch", "nodeset", c.spec.Name,
		"--type=merge", `--patch={"spec": {"maxReplicas": `+value+`}}`)
	must(c.t, err)
}

// testReboot: "scontrol reboot" of a worker with a job replaces its pod after the job, and the node is in service again.
func testReboot(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "boot", Replicas: 1})
	job := c.startJob("boot-0", 30)
	before := c.mustWorkers()["boot-0"]
	_, err := s.Slurm(t.Context(), "scontrol", "reboot", "ASAP", "nextstate=resume", "reason=kernel", "boot-0")
	must(t, err)
	c.awaitSlurmState("boot-0", "MIXED+DRAIN+REBOOT_REQUESTED", "kernel")
	c.expectSteady("its worker stays", func() (bool, string) {
		have := c.mustWorkers()["boot-0"]
		return have.UID == before.UID && !have.Deleting, fmt.Sprint(have)
	})
	c.finishJob(job)
	c.await("it has another pod", func(context.Context) (bool, string) {
		have := c.mustWorkers()["boot-0"]
		return have.UID != "" && have.UID != before.UID, fmt.Sprint(have)
	})
	c.awaitSlurmState("boot-0", "IDLE", "")
	c.finishJob(c.startJob("boot-0", 30))
	c.testRebootToDown()
	c.deleteAndWait()
}

// testRebootToDown: with nextstate=down the node stays out of service until an administrator resumes it, and another worker serves.
func (c nodeSetEnv) testRebootToDown() {
	c.t.Helper()
	before := c.mustWorkers()["boot-0"]
	_, err := c.Slurm(c.t.Context(), "scontrol", "reboot", "nextstate=down", "reason=disk", "boot-0")
	must(c.t, err)
	c.await("its pod is replaced", func(context.Context) (bool, string) {
		have := c.mustWorkers()
		return len(have) == 1 && have["boot-0"].UID != before.UID, fmt.Sprint(have)
	})
	c.expectSteadyFor(20*time.Second, "boot-0 is down", func() (bool, string) {
		state, reason, err := c.SlurmNode(c.t.Context(), "boot-0")
		return err == nil && strings.HasPrefix(state, "DOWN") && strings.HasPrefix(reason, "disk"), fmt.Sprint(state, " ", reason, err)
	})
	c.t.Log(c.mustWorkers())
	_, err = c.Slurm(c.t.Context(), "scontrol", "update", "nodename=boot-0", "state=resume")
	must(c.t, err)
	job, err := c.Slurm(c.t.Context(), "sbatch", "--parsable", "-o", "/out/%x-%j-%N", "-p", "all", "-C", "boot", "--wrap", "true")
	must(c.t, err)
	c.await("job "+job+" has ended well", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.CompletedOnce(), fmt.Sprint(have, err)
	})
}

// testKubeletAway: the pod of a worker with a job is deleted by force while its kubelet is away. The job ends as requested; meanwhile no
// second worker has its name.
func testKubeletAway(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "lost", Replicas: 1})
	const duration = 20 * time.Second
	job, err := s.Slurm(t.Context(), "sbatch", "--parsable", "-o", "/out/%x-%j-%N", "-p", "all", "-w", "lost-0", "--wrap",
		fmt.Sprint("sleep ", duration.Seconds()))
	must(t, err)
	c.await("job "+job+" runs", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.State == "RUNNING", fmt.Sprint(have, err)
	})
	end := time.Now().Add(duration)
	must(t, s.Kube.Signal(t.Context(), "kubelet", syscall.SIGSTOP))
	defer func() { must(t, s.Kube.Signal(context.Background(), "kubelet", syscall.SIGCONT)) }()
	_, err = s.Kube.Kubectl(t.Context(), "--namespace", s.Values.Namespace, "delete", "pod", "lost-0", "--force",
		"--grace-period=0", "--wait=false")
	must(t, err)
	c.await("the next worker takes its place", func(context.Context) (bool, string) {
		have := c.mustWorkers()
		return len(have) == 1 && have["lost-1"].UID != "", fmt.Sprint(have)
	})
	c.await("Ready names the Slurm node", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, s, "lost", "Ready", "False")
		return ok && strings.Contains(text, "lost-0 have no pod"), text
	})
	time.Sleep(time.Until(end) + 10*time.Second) // the kubelet ends the process when it is back, and runs no commands until then
	must(t, s.Kube.Signal(t.Context(), "kubelet", syscall.SIGCONT))
	c.await("job "+job+" has ended well", func(ctx context.Context) (bool, string) {
		have, err := c.Job(ctx, job)
		return have.CompletedOnce(), fmt.Sprint(have, err)
	})
	c.awaitSlurmState("lost-1", "IDLE", "")
	c.deleteAndWait()
}

// testOlderState: slurmctld comes back with a state from before a worker with a running job registered. The worker stays until the job has
// ended, longer than a worker that never registers, and then takes jobs again.
func testOlderState(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "older"})
	c.awaitSlurmState("older-0", "FUTURE", "")
	c.await("the state has its record", func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "sh", "-c", "grep -q older-0 /var/spool/slurmctld/node_state && rm -rf /out/saved && cp -a /var/spool/slurmctld /out/saved")
		return err == nil, fmt.Sprint(out, err)
	})
	must(t, s.Scale(t.Context(), "older", 1))
	c.awaitSlurmState("older-0", "IDLE", "")
	job := c.startJob("older-0", 30)
	before := c.mustWorkers()["older-0"]
	_, err := s.Slurm(t.Context(), "mv", "/out/saved", "/out/restored-state")
	must(t, err)
	must(t, s.SignalSlurmctld(t.Context(), syscall.SIGKILL))
	c.awaitSlurmState("older-0", "FUTURE", "")
	c.await("Ready names it", func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, s, "older", "Ready", "False")
		return ok && strings.Contains(text, "Slurm lost the records of workers older-0") &&
			strings.Contains(text, "kubectl exec older-0 -c slurmd"), text
	})
	const longerThanRegistration = 90 * time.Second // registerWithin is a minute here
	for end := time.Now().Add(longerThanRegistration); time.Now().Before(end); time.Sleep(time.Second) {
		if have := c.mustWorkers()["older-0"]; have.UID != before.UID || have.Deleting {
			t.Fatalf("the worker with the job that slurmctld has lost is %v now", have)
		}
	}
	if out, err := s.Slurm(t.Context(), "sh", "-c", "ls /out/held-"+job+"-older-0 && ! grep -i orphan /out/held-"+job+"-older-0"); err != nil {
		t.Errorf("the job was ended: %s %v", out, err)
	}
	must(t, s.FinishJob(t.Context(), job))
	// The workers of a Cluster or of an external Controller have no agent.
	_, err = s.Kube.Kubectl(t.Context(), "--namespace", s.Values.Namespace, "exec", "older-0", "-c", "slurmd", "--",
		"sh", "-c", "kill -HUP $(pidof slurmd)")
	must(t, err)
	c.awaitSlurmState("older-0", "IDLE", "")
	if have := c.mustWorkers()["older-0"]; have.UID != before.UID {
		t.Errorf("it was replaced: %v", have)
	}
	_, err = s.Slurm(t.Context(), "sh", "-c", "rm -f /out/over-*")
	must(t, err)
	c.finishJob(c.startJob("older-0", 30))
	c.deleteAndWait()
}
