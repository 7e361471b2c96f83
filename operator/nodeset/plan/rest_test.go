package plan

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rest lets everything that is under way come to an end, and looks at what is there
// then.
func (w *world) rest() {
	w.dead, w.calm, w.swapped, w.desired.Joins = false, true, false, "a"
	w.neighbourLeaves()
	w.readNodes()
	w.readJobs()
	clear(w.cordoned)
	w.desired.Update.Open = true
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		w.end(id)
	}
	// After a loss of slurmctld's state an administrator restarts the slurmds that it
	// does not know any more.
	for _, p := range w.pods {
		p.stuck = false
		n := w.slurm[p.name]
		// The brake takes its time: one that Slurm refuses is enough.
		p.refused = p.refused && n != nil && n.Future && p.name == "n-0"
		if p.joins && (n == nil || n.Future) {
			w.crash(p)
		}
		clear(p.work)
	}
	quiet := 0
	for range 400 {
		w.pass(10 * time.Second)
		w.kubelet()
		w.collect()
		for _, p := range w.pods {
			p.stuck = false
		}
		w.readNodes()
		w.pass(time.Second)
		w.readJobs()
		actions := w.reconcile(false)
		if quiet++; len(actions.Steps) > 0 || len(actions.Waits) > 0 || w.moving() {
			quiet = 0
		}
		if quiet > 5 || w.broken != "" {
			break
		}
	}
	w.check(quiet)
}

// moving reports that the kubelet is not done.
func (w *world) moving() bool {
	for _, p := range w.pods {
		if !p.ready || !p.going.IsZero() {
			return true
		}
	}
	return false
}

func (w *world) check(quiet int) {
	desired := w.desired.Desired()
	ready, outdated := 0, 0
	for _, p := range w.pods {
		if p.ready {
			ready++
		}
		if p.revision != w.desired.Revision {
			outdated++
		}
	}
	switch {
	case w.broken != "":
	case quiet <= 5:
		w.fail("it does not come to rest: %+v", w.plan(w.observed()))
	case len(w.pods) != desired || ready != desired:
		w.fail("at rest there are %d pods, %d ready, and not %d", len(w.pods), ready, desired)
	// Those that others keep out of service use up the disruption budget.
	case outdated > w.drainedByOthers() && w.drainedByOthers() < w.desired.Update.MaxUnavailable:
		w.fail("at rest %d workers are of an old revision", outdated)
	}
	for _, p := range w.pods {
		if p.bond != (Bond{}) {
			w.fail("at rest the owners of %s lack something: %+v", p.name, p.bond)
		}
	}
	for name, n := range w.slurm {
		if p := w.pods[name]; p == nil && !n.Future && !n.Foreign() && w.desired.Records {
			w.fail("at rest the record %s is left: %+v", name, n.Record)
		}
		if w.pods[name] != nil && n.Drain && n.Ours {
			w.fail("at rest %s is drained by us", name)
		}
		if p := w.pods[name]; p != nil && p.ready && n.Ours && !n.Drain {
			w.fail("at rest %s has a reason of ours: %+v", name, n.Record)
		}
		if w.desired.Deleting && !n.Foreign() && w.mineOrNone(n) {
			w.fail("at rest the record %s of a deleted NodeSet is left: %+v", name, n.Record)
		}
	}
}

func (w *world) mineOrNone(n *simRecord) bool { return n.Owner == w.desired.UID }

func (w *world) drainedByOthers() int {
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
		w := newWorld(seed, New(DefaultConfig()))
		for range 60 {
			w.event()
			observed := w.observed()
			first := w.op.planner.Plan(w.now, w.desired, observed)
			slices.Reverse(observed.Workers)
			if diff := cmp.Diff(first, w.op.planner.Plan(w.now, w.desired, observed), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("history %d: another order gives another plan:\n%s", seed, diff)
			}
		}
	}
}
