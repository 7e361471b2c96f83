package rack

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/desired"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

var histories = flag.Int("histories", 1000, "number of random histories to play")

// TestNoHistoryBreaksThePromise plays histories of a NodeSet that changes between the scaling modes. Kubernetes nodes
// join, are lost and are tainted, and some share a Slurm node name.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	events := map[string]int{"is lost": 0, "NoSchedule": 0, " Update": 0, "mode is DaemonSet": 0, "mode is StatefulSet": 0,
		"a job starts": 0}
	for seed := range uint64(*histories) {
		w := playRack(seed, plan.New(plan.DefaultConfig()))
		if w.broken != "" {
			t.Fatalf("history %d: %s\n%s", seed, w.broken, strings.Join(w.log, "\n"))
		}
		for _, line := range w.log {
			for event := range events {
				if strings.Contains(line, event) {
					events[event]++
				}
			}
		}
	}
	t.Logf("%d histories: %v", *histories, events)
	for event, count := range events {
		if count == 0 {
			t.Errorf("in no history there is this: %s", event)
		}
	}
}

// createNamesakes creates workers also where another Kubernetes node owns the Slurm node name.
func createNamesakes(p *plan.Planner, now time.Time, wanted plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, wanted, observed)
	for _, n := range actions.Namesakes {
		isHeld := slices.ContainsFunc(observed.Workers, func(w plan.Worker) bool { return w.Slot.KubeNode == n.KubeNode })
		if !isHeld {
			actions.Steps = append(actions.Steps, plan.Step{Verb: plan.CreatePod, SlurmName: n.SlurmName,
				Slot: plan.Slot{Ordinal: plan.NoOrdinal, KubeNode: n.KubeNode}, Precondition: plan.PreconditionJoinable})
		}
	}
	return actions
}

// removeOtherMode removes the workers of scaling mode StatefulSet at once in the other mode.
func removeOtherMode(p *plan.Planner, now time.Time, wanted plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, wanted, observed)
	for _, w := range observed.Workers {
		if wanted.PerKubeNode && w.Slot.KubeNode == "" && w.DeletedAt.IsZero() && w.DrainMark.Cause == "" {
			actions.Steps = append(actions.Steps, plan.Step{Verb: plan.Annotate, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName,
				DrainMark: plan.DrainMark{Cause: v1beta1.DrainCauseScaleIn, Since: now, Protect: true}})
		}
	}
	return actions
}

// keepOtherMode does not change the workers of the other scaling mode.
func keepOtherMode(p *plan.Planner, now time.Time, wanted plan.Desired, observed plan.Observation) plan.Actions {
	observed.Workers = slices.Clone(observed.Workers)
	for i := range observed.Workers {
		switch w := &observed.Workers[i]; {
		case wanted.PerKubeNode && w.Slot.KubeNode == "":
			w.Slot = plan.Slot{Ordinal: plan.NoOrdinal, KubeNode: w.KubeNode}
		case !wanted.PerKubeNode && w.Slot.KubeNode != "":
			w.Slot = plan.Slot{Ordinal: 100 + i}
		}
	}
	return p.Plan(now, wanted, observed)
}

// removeTainted wants no workers on Kubernetes nodes with a taint of effect NoSchedule.
func removeTainted(w *rack, wanted *plan.Desired) {
	wanted.KubeNodes = slices.DeleteFunc(wanted.KubeNodes, func(name string) bool {
		return !desired.CanRunOn(&corev1.PodSpec{}, w.kubeNodes[name])
	})
}

// TestBrokenRulesOfKubernetesNodesAreNoticed breaks one rule about Kubernetes nodes and scaling modes at a time.
func TestBrokenRulesOfKubernetesNodesAreNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*rack)
		notices string
	}{
		"each Kubernetes node gets a worker, whatever its Slurm node": {func(w *rack) { w.alterPlan = createNamesakes }, "has its Slurm node"},
		"a taint that keeps new pods off removes workers":             {func(w *rack) { w.alterDesired = removeTainted }, "is to be removed, which may stay"},
		"a change of the scaling mode removes all workers at once":    {func(w *rack) { w.alterPlan = removeOtherMode }, "is to be removed, which may stay"},
		"a change of the scaling mode does nothing":                   {func(w *rack) { w.alterPlan = keepOtherMode }, "is of an old revision or mode"},
		"a worker that was just made is forgotten until it is seen":   {func(w *rack) { w.forgetCreated = true }, "has its Slurm node"},
		"a change of the scaling mode ignores the budget": {func(w *rack) {
			rules := plan.DefaultRules(plan.DefaultConfig())
			rules.UpdateLimit = func(wanted *plan.Desired) int { return wanted.WorkerCount() }
			w.planner = plan.NewWithRules(rules)
		}, "are chosen for an update at a time"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10_000) {
				if w := playRack(seed, plan.New(plan.DefaultConfig()), tc.change); strings.Contains(w.broken, tc.notices) && w.broken != "" {
					t.Logf("history %d: %s", seed, w.broken)
					return
				}
			}
			t.Errorf("10,000 histories did not notice: %s", tc.notices)
		})
	}
}
