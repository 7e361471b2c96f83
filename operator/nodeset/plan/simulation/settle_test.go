package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// settle lets everything come to an end, and checks the result.
func (w *simulation) settle() {
	w.slurmrestdDown, w.calm, w.otherClusterAnswers, w.desired.ClusterRef = false, true, false, "a"
	w.neighbourLeaves()
	w.readNodes()
	w.readJobs()
	clear(w.cordoned)
	w.calmLost()
	clear(w.records.named)
	w.records.requested = 0
	w.desired.ReservedNames = nil
	w.records.unreadable, w.records.refused = false, false
	w.restoreMaximum()
	w.desired.Update.Allowed = true
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		w.endJob(id)
	}
	w.resumeLargerRecords()
	// After a loss of slurmctld's state an administrator restarts the slurmds that slurmctld no longer knows and that no
	// agent can make register again.
	for _, p := range w.pods {
		p.stuck = false
		n := w.slurm[p.name]
		// The brake takes its time: one refused worker is enough.
		p.refused = p.refused && n != nil && n.Future && p.name == "n-0"
		if p.registered && p.noAgent && (n == nil || n.Future) {
			w.crashSlurmd(p)
		}
		clear(p.work)
	}
	quiet := 0
	for range 400 {
		w.advanceTime(10 * time.Second)
		w.kubelet()
		w.collectGarbage()
		for _, p := range w.pods {
			p.stuck = false
		}
		w.readNodes()
		w.advanceTime(time.Second)
		w.readJobs()
		actions := w.reconcile(false)
		if quiet++; len(actions.Steps) > 0 || len(actions.Waits) > 0 || w.isMoving() {
			quiet = 0
		}
		if quiet > 5 || w.broken != "" {
			break
		}
	}
	w.checkAtRest(quiet)
}

// isMoving reports that the kubelet is not done, or that a worker still has to register again: the next request may be two
// minutes away.
func (w *simulation) isMoving() bool {
	for _, p := range w.pods {
		if !p.ready || !p.deletedAt.IsZero() || w.isUnknownToSlurm(p) {
			return true
		}
	}
	return false
}

func (w *simulation) checkAtRest(quiet int) {
	desired := w.desired.WorkerCount()
	ready, outdated := 0, 0
	for _, p := range w.pods {
		if p.ready {
			ready++
		}
		if p.revision != w.desired.Revision && p.ordinal >= w.desired.Update.Partition {
			outdated++
		}
	}
	w.checkRegisteredAtRest()
	switch {
	case w.broken != "":
	case quiet <= 5:
		w.failf("it does not come to rest: %+v", w.runPlanner(w.observe()))
	case len(w.pods) != desired || ready != desired:
		w.failf("at rest there are %d pods, %d ready, and not %d", len(w.pods), ready, desired)
	// Those that others keep out of service use up the disruption budget.
	case outdated > w.drainedByOthers() && w.drainedByOthers() < w.desired.Update.MaxUnavailable:
		w.failf("at rest %d workers are of an old revision", outdated)
	}
	w.checkClaimsAtRest()
	w.checkShapesAtRest()
	w.checkGRESAtRest()
	for _, p := range w.pods {
		if p.missingOwners != (plan.MissingOwners{}) {
			w.failf("at rest the owners of %s lack something: %+v", p.name, p.missingOwners)
		}
	}
	for name, n := range w.slurm {
		if p := w.pods[name]; p == nil && !n.Future && (!n.Foreign() || n.Fault != "") && w.desired.CanCreateRecords {
			w.failf("at rest the record %s is left: %+v", name, n.Record)
		}
		if w.pods[name] != nil && n.Drain && n.OurReason {
			w.failf("at rest %s is drained by us", name)
		}
		if p := w.pods[name]; p != nil && p.ready && n.OurReason && !n.Drain {
			w.failf("at rest %s has a reason of ours: %+v", name, n.Record)
		}
		if p := w.pods[name]; p != nil && n.Fault != "" && n.FaultAt.Before(p.created) {
			w.failf("at rest %s is drained for a fault of an earlier worker", name)
		}
		if w.pods[name] != nil && n.Rebooting {
			w.failf("at rest %s waits for its reboot", name)
		}
		if w.pods[name] == nil && !n.Future && n.Pod != "" && w.isOurs(n) {
			w.failf("at rest %s has no worker, and counts as a lost one", name)
		}
		if w.desired.Deleting && (!n.Foreign() || n.Fault != "") && w.isOurs(n) {
			w.failf("at rest the record %s of a deleted NodeSet is left: %+v", name, n.Record)
		}
	}
}

func (w *simulation) isOurs(n *simRecord) bool { return n.OwnerUID == w.desired.UID }

func (w *simulation) drainedByOthers() int {
	count := 0
	for name, n := range w.slurm {
		if w.pods[name] != nil && n.Foreign() {
			count++
		}
	}
	return count
}

// TestPlanIsDeterministic asks again with the input in another order.
func TestPlanIsDeterministic(t *testing.T) {
	for seed := range uint64(300) {
		w := newSimulation(seed, plan.New(plan.DefaultConfig()))
		for range 60 {
			w.event()
			observed := w.observe()
			first := w.operator.planner.Plan(w.now, w.desired, observed)
			slices.Reverse(observed.Workers)
			if diff := cmp.Diff(first, w.operator.planner.Plan(w.now, w.desired, observed),
				cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("history %d: another order gives another plan:\n%s", seed, diff)
			}
		}
	}
}
