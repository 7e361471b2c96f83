package simulation

import (
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// checkBudget holds the choice of workers for an update to the budget.
func (w *simulation) checkBudget(observed *plan.Observation, steps []plan.Step) {
	causes := map[string]string{}
	for _, p := range observed.Workers {
		if p.Running && p.DeletedAt.IsZero() && !p.Finished && !w.isKnownOwnedByOther(p.SlurmName) {
			causes[p.Pod] = p.DrainMark.Cause
		}
	}
	before := countUpdates(causes)
	for _, s := range steps {
		if _, runs := causes[s.Pod]; runs && s.Verb == plan.Annotate {
			causes[s.Pod] = s.DrainMark.Cause
		}
	}
	chosen := countUpdates(causes)
	switch limit := w.desired.Update.MaxUnavailable; {
	case !observed.Slurm.Fresh || w.hasMismatch() || w.desired.Deleting:
	case chosen > limit:
		w.failf("%d workers are chosen for an update at a time", chosen)
	case before > limit && w.desired.Update.Allowed:
		w.logf("above the budget %d workers were chosen", before)
	}
}

// checkHolds checks that workers with work are protected, and that drains of others stay.
func (w *simulation) checkHolds() {
	for _, p := range w.pods {
		if len(p.work) > 0 && !p.drainMark.Protect && !p.drainUndone && p.deletedAt.IsZero() {
			w.failf("pod %s has work and is not protected", p.name)
		}
	}
	for name := range w.setByAdmin {
		if n := w.slurm[name]; n == nil || n.Future || !n.Foreign() || n.reason != "bad memory" {
			w.failf("%s is not out of service any more, as an administrator had it", name)
		}
	}
}

// checkTime holds a deletion of a worker that is not registered to the time that it has to
// register, and to the brake.
func (w *simulation) checkTime(s plan.Step, p *simPod) {
	if s.Precondition != plan.PreconditionUnregistered && s.Precondition != plan.PreconditionFuture {
		return
	}
	cfg, since := plan.DefaultConfig(), p.created
	if p.running {
		since = p.runningSince
	}
	if w.now.Before(since.Add(cfg.RegisterWithin)) {
		w.failf("pod %s was deleted before it had time to register", p.name)
	}
	for _, t := range w.unregistered { // the share of few workers is one
		if w.now.Before(t.Add(cfg.UnregisteredDeletionInterval)) {
			w.failf("pod %s was deleted within the brake's interval of another", p.name)
		}
	}
}

func countUpdates(causes map[string]string) int {
	count := 0
	for _, cause := range causes {
		if cause == v1beta1.DrainCauseUpdate {
			count++
		}
	}
	return count
}

// openNodes returns the Slurm nodes without a worker that the operator knows to be held and open: nothing
// prevents it from closing them.
func (w *simulation) openNodes(observed *plan.Observation) map[string]bool {
	open := map[string]bool{}
	for name, r := range w.operator.nodes {
		_, worker := w.operator.pods[name]
		if observed.Slurm.Fresh && !w.hasMismatch() && !w.slurmrestdDown && !w.otherClusterAnswers && !worker &&
			r.DownByOthers && !r.Drain && r.OwnerUID == w.desired.UID && w.isOpen(name) {
			open[name] = true
		}
	}
	return open
}

// isOpen reports that an administrator holds a Slurm node, which may still return by itself.
func (w *simulation) isOpen(name string) bool {
	n := w.slurm[name]
	return n != nil && n.isDownByOthers() && !n.Drain && w.setByAdmin[name]
}
