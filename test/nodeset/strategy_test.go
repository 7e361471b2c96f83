//go:build e2e

package nodeset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/nodeset"
)

// testOnDelete: a worker is updated when somebody deletes its pod.
func onDelete(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "od", Replicas: 2, Spec: "  updateStrategy: {type: OnDelete}"})
	c.change(2, c.spec.Spec)
	c.updated("False", "OnDelete", "2 workers")
	c.keepRounds("od-0 0", "od-1 0")
	c.awaitOwned("od-0")
	c.kubectl("--namespace", s.Site.Namespace, "delete", "pod", "od-0")
	c.awaitRounds("od-0 2", "od-1 0")
	c.keepRounds("od-0 2", "od-1 0")
	c.dismiss()
}

// testPartition: workers below it keep their revision, also when they are lost.
func partition(t *testing.T, s *nodeset.Scene) {
	spec := "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: %d, maxUnavailable: 2}}"
	c := hire(t, s, nodeset.NodeSet{Name: "part", Replicas: 3, Spec: fmt.Sprintf(spec, 2)})
	c.change(2, c.spec.Spec)
	c.awaitRounds("part-0 0", "part-1 0", "part-2 2")
	c.updated("True", "UpToDate", "")
	c.awaitOwned("part-0", "part-1", "part-2")
	c.kubectl("--namespace", s.Site.Namespace, "delete", "pod", "part-0", "part-1", "part-2")
	c.awaitRounds("part-0 0", "part-1 0", "part-2 2")
	c.awaitState("part-0", "IDLE", "")
	c.change(2, fmt.Sprintf(spec, 0))
	c.awaitRounds("part-0 2", "part-1 2", "part-2 2")
	c.dismiss()
}

// testPaused: an update that is under way stops, and its drain is undone.
func paused(t *testing.T, s *nodeset.Scene) {
	c := hire(t, s, nodeset.NodeSet{Name: "pause", Replicas: 1})
	job := c.hold("pause-0", 30)
	c.change(2, "")
	c.awaitState("pause-0", "MIXED+DRAIN", "slurm-operator: update")
	c.change(2, "  updateStrategy: {paused: true}")
	c.awaitState("pause-0", "MIXED", "")
	c.updated("False", "UpdatePaused", "1 worker ")
	c.keepRounds("pause-0 0")
	c.change(2, "  updateStrategy: {paused: false}")
	c.awaitState("pause-0", "MIXED+DRAIN", "slurm-operator: update")
	c.release(job)
	c.awaitRounds("pause-0 2")
	c.dismiss()
}

// testScheduled: workers are replaced within a reservation, which follows the schedule. A job that
// would run into it waits, and runs on the new worker.
func scheduled(t *testing.T, s *nodeset.Scene) {
	spec := func(start time.Time) string {
		return "  updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {startTime: " + start.UTC().Format(time.RFC3339) + ", duration: 10m}}"
	}
	start := time.Now().Add(time.Hour).Truncate(time.Second)
	c := hire(t, s, nodeset.NodeSet{Name: "plan", Replicas: 2, Spec: spec(start)})
	c.change(2, spec(start))
	c.awaitReservation("Nodes=plan-[0-1]", "MAINT", "StartTime="+start.UTC().Format("2006-01-02T15:04:05"))
	c.updated("False", "Scheduled", "2 workers")
	start = time.Now().Add(30 * time.Second).Truncate(time.Second)
	c.change(2, spec(start))
	c.awaitReservation("Nodes=plan-[0-1]", "MAINT", "StartTime="+start.UTC().Format("2006-01-02T15:04:05"))
	waits := sbatch(t, s, "-J", "waits", "-p", "all", "-w", "plan-0", "--time=30", "--wrap", "true")
	if time.Until(start) > 10*time.Second { // else there is nothing to be seen in time
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
		return job.Good(), fmt.Sprint(job, err)
	})
	c.dismiss()
}

func (c crew) awaitReservation(words ...string) {
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
func (c *crew) change(round int, spec string) {
	c.t.Helper()
	c.spec.Round, c.spec.Spec = round, spec
	must(c.t, c.Apply(c.t.Context(), c.spec))
}

// awaitUpdated waits for the condition Updated.
func (c crew) updated(status, reason, words string) {
	c.t.Helper()
	c.await(fmt.Sprint("Updated is ", status, " ", reason), func(ctx context.Context) (bool, string) {
		ok, text := condition(ctx, c.Scene, c.spec.Name, "Updated", status)
		return ok && strings.Contains(text, ": "+reason+": ") && strings.Contains(text, words), text
	})
}

// hasRounds reports whether these are the workers, each with its round.
func (c crew) rounds(want []string) (bool, string) {
	c.t.Helper()
	workers := c.mustWorkers()
	ok := len(workers) == len(want)
	for _, w := range want {
		name, round, _ := strings.Cut(w, " ")
		ok = ok && workers[name].Round == round && !workers[name].Going
	}
	return ok, fmt.Sprint(workers)
}

// awaitOwned waits until the Slurm nodes name their owner. While one that responds does not, no
// worker is created with its name: one that follows a deleted pod has the next.
func (c crew) awaitOwned(slurmNodes ...string) {
	c.t.Helper()
	for _, name := range slurmNodes {
		c.await(name+" has an owner", func(ctx context.Context) (bool, string) {
			out, err := c.Slurm(ctx, "scontrol", "show", "node", name, "--oneliner")
			return err == nil && strings.Contains(out, "nodeSetUID"), fmt.Sprint(out, err)
		})
	}
}

func (c crew) awaitRounds(want ...string) {
	c.t.Helper()
	c.await(fmt.Sprint("rounds are ", want), func(context.Context) (bool, string) { return c.rounds(want) })
}

func (c crew) keepRounds(want ...string) {
	c.t.Helper()
	c.stays(fmt.Sprint("rounds are ", want), func() (bool, string) { return c.rounds(want) })
}
