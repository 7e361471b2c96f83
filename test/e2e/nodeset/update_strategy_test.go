//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/e2e/nodeset"
)

// testOnDelete: a worker is updated when its pod is deleted.
func testOnDelete(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "od", Replicas: 2, Spec: "  updateStrategy: {type: OnDelete}"})
	c.applyRound(2, c.spec.Spec)
	c.awaitUpdated("False", "OnDelete", "2 workers")
	c.keepRounds("od-0 0", "od-1 0")
	c.awaitOwned("od-0")
	c.kubectl("--namespace", s.Values.Namespace, "delete", "pod", "od-0")
	c.awaitRounds("od-0 2", "od-1 0")
	c.keepRounds("od-0 2", "od-1 0")
	c.deleteAndWait()
}

// testPartition: workers below the partition keep their revision, even when they are lost.
func testPartition(t *testing.T, s *nodeset.Env) {
	spec := "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: %d, maxUnavailable: 2}}"
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "part", Replicas: 3, Spec: fmt.Sprintf(spec, 2)})
	c.applyRound(2, c.spec.Spec)
	c.awaitRounds("part-0 0", "part-1 0", "part-2 2")
	c.awaitUpdated("True", "UpToDate", "")
	c.awaitOwned("part-0", "part-1", "part-2")
	c.kubectl("--namespace", s.Values.Namespace, "delete", "pod", "part-0", "part-1", "part-2")
	c.awaitRounds("part-0 0", "part-1 0", "part-2 2")
	c.awaitSlurmState("part-0", "IDLE", "")
	c.applyRound(2, fmt.Sprintf(spec, 0))
	c.awaitRounds("part-0 2", "part-1 2", "part-2 2")
	c.deleteAndWait()
}

// testPaused: an update that is under way stops, and its drain is undone.
func testPaused(t *testing.T, s *nodeset.Env) {
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "pause", Replicas: 1})
	job := c.startJob("pause-0", 30)
	c.applyRound(2, "")
	c.awaitSlurmState("pause-0", "MIXED+DRAIN", "slurm-operator: update")
	c.applyRound(2, "  updateStrategy: {paused: true}")
	c.awaitSlurmState("pause-0", "MIXED", "")
	c.awaitUpdated("False", "UpdatePaused", "1 worker ")
	c.keepRounds("pause-0 0")
	c.applyRound(2, "  updateStrategy: {paused: false}")
	c.awaitSlurmState("pause-0", "MIXED+DRAIN", "slurm-operator: update")
	c.finishJob(job)
	c.awaitRounds("pause-0 2")
	c.deleteAndWait()
}

// testScheduled: workers are replaced within a reservation, which follows the schedule. A job that
// would run into it waits, and runs on the new worker.
func testScheduled(t *testing.T, s *nodeset.Env) {
	spec := func(start time.Time) string {
		return "  updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {startTime: " + start.UTC().Format(
			time.RFC3339) + ", duration: 10m}}"
	}
	start := time.Now().Add(time.Hour).Truncate(time.Second)
	c := startNodeSet(t, s, nodeset.NodeSet{Name: "plan", Replicas: 2, Spec: spec(start)})
	c.applyRound(2, spec(start))
	c.awaitReservation("Nodes=plan-[0-1]", "MAINT", "StartTime="+start.UTC().Format("2006-01-02T15:04:05"))
	c.awaitUpdated("False", "Scheduled", "2 workers")
	start = time.Now().Add(30 * time.Second).Truncate(time.Second)
	c.applyRound(2, spec(start))
	c.awaitReservation("Nodes=plan-[0-1]", "MAINT", "StartTime="+start.UTC().Format("2006-01-02T15:04:05"))
	waits := sbatch(t, s, "-J", "waits", "-p", "all", "-w", "plan-0", "--time=30", "--wrap", "true")
	if time.Until(start) > 10*time.Second { // with less time left, the state would change before the check
		c.keepRounds("plan-0 0", "plan-1 0")
	}
	c.awaitRounds("plan-0 2", "plan-1 2")
	if early := time.Until(start); early > 0 {
		t.Errorf("the workers had changed %s before the time", early)
	}
	c.await("the reservation is gone", func(ctx context.Context) (bool, string) {
		out, err := s.Slurm(ctx, "scontrol", "show", "reservation", "--oneliner")
		return err == nil && !strings.Contains(out, "SlurmOperatorMaint-plan"), fmt.Sprint(out, err)
	})
	c.await("job "+waits+" has ended well", func(ctx context.Context) (bool, string) {
		job, err := c.Job(ctx, waits)
		return job.CompletedOnce(), fmt.Sprint(job, err)
	})
	c.deleteAndWait()
}

func (c nodeSetEnv) awaitReservation(words ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("reservation ", words), func(ctx context.Context) (bool, string) {
		out, err := c.Slurm(ctx, "scontrol", "show", "reservation", "SlurmOperatorMaint-"+c.spec.Name, "--oneliner")
		for _, word := range words {
			if !strings.Contains(out, word) {
				return false, fmt.Sprint(out, err)
			}
		}
		return err == nil, fmt.Sprint(out, err)
	})
}

// applyRound applies another round of the pod template and further fields of the spec.
func (c *nodeSetEnv) applyRound(round int, spec string) {
	c.t.Helper()
	c.spec.Round, c.spec.Spec = round, spec
	must(c.t, c.Apply(c.t.Context(), c.spec))
}

// awaitUpdated waits for the condition Updated.
func (c nodeSetEnv) awaitUpdated(status, reason, words string) {
	c.t.Helper()
	c.await(fmt.Sprint("Updated is ", status, " ", reason), func(ctx context.Context) (bool, string) {
		ok, text := conditionOf(ctx, c.Env, c.spec.Name, "Updated", status)
		return ok && strings.Contains(text, ": "+reason+": ") && strings.Contains(text, words), text
	})
}

// hasRounds reports whether these are the workers, each with its round.
func (c nodeSetEnv) hasRounds(want []string) (bool, string) {
	c.t.Helper()
	workers := c.mustWorkers()
	ok := len(workers) == len(want)
	for _, w := range want {
		name, round, _ := strings.Cut(w, " ")
		ok = ok && workers[name].Round == round && !workers[name].Deleting
	}
	return ok, fmt.Sprint(workers)
}

// awaitOwned waits until the Slurm nodes name their owner. While a responding node does not, the operator creates no
// worker with its name. A worker that follows a deleted pod then gets the next name.
func (c nodeSetEnv) awaitOwned(slurmNodes ...string) {
	c.t.Helper()
	for _, name := range slurmNodes {
		c.await(name+" has an owner", func(ctx context.Context) (bool, string) {
			out, err := c.Slurm(ctx, "scontrol", "show", "node", name, "--oneliner")
			return err == nil && strings.Contains(out, "nodeSetUID"), fmt.Sprint(out, err)
		})
	}
}

func (c nodeSetEnv) awaitRounds(want ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("rounds are ", want), func(context.Context) (bool, string) { return c.hasRounds(want) })
}

func (c nodeSetEnv) keepRounds(want ...string) {
	c.t.Helper()
	c.expectSteady(fmt.Sprint("rounds are ", want), func() (bool, string) { return c.hasRounds(want) })
}
