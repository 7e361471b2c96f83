package rack

import "github.com/slurmtide/slurmtide/operator/nodeset/plan"

func (w *rack) runPlanner() plan.Actions {
	if w.alterPlan != nil {
		return w.alterPlan(w.planner, w.now, w.desire(), w.observe())
	}
	return w.planner.Plan(w.now, w.desire(), w.observe())
}

// reconcile is one run of the operator. Steps may fail.
func (w *rack) reconcile(faults bool) {
	if !faults || w.chance(80) {
		w.readPods()
	}
	actions := w.runPlanner()
	fresh := w.observe().Slurm.Fresh
	if fresh {
		w.checkCauses(actions.Steps)
	}
	skip := map[string]bool{}
	for _, s := range actions.Steps {
		if key := s.Pod + s.SlurmName; skip[key] || faults && w.chance(5) || !w.applyStep(s) {
			skip[key] = true
		}
	}
}

// applyStep takes a step and reports whether it was taken.
func (w *rack) applyStep(s plan.Step) bool {
	r, p := w.slurm[s.SlurmName], w.pods[s.Pod]
	isOfPod := s.Verb == plan.Annotate || s.Verb == plan.DeletePod
	if !s.IsMetBy(r) || isOfPod && (p == nil || p.UID != s.UID || p.version != w.observed.pods[s.Pod].version) {
		return false
	}
	w.logf("%s %s %s %v %s", s.Verb, s.Pod, s.SlurmName, s.Slot, s.Reason)
	switch s.Verb {
	case plan.CreatePod:
		return w.createPod(s)
	case plan.Annotate:
		p.DrainMark = s.DrainMark
		w.observed.pods[s.Pod] = *p // with its new version
		return true
	case plan.DeletePod:
		if p.jobs > 0 {
			w.failf("pod %s was deleted with %d jobs on it: %s", p.Pod, p.jobs, s.Reason)
		}
		p.DeletedAt = w.now
		return true
	}
	delete(w.observed.drained, s.SlurmName)
	return r != nil && w.writeSlurm(s, r)
}

// writeSlurm changes a Slurm node.
func (w *rack) writeSlurm(s plan.Step, r *plan.Record) bool {
	switch s.Verb {
	case plan.Drain:
		r.Drain, r.OurReason = true, true
	case plan.Undrain, plan.ClearReason:
		r.Drain, r.OurReason = false, false
	case plan.Resume:
		r.Drain, r.OurReason, r.Down = false, false, false
	case plan.MarkFuture, plan.DeleteRecord:
		for _, p := range w.pods {
			if p.SlurmName == s.SlurmName && p.registered {
				w.failf("%s of %s, which has the worker %s", s.Verb, s.SlurmName, p.Pod)
			}
		}
		if s.Verb == plan.DeleteRecord {
			delete(w.slurm, s.SlurmName)
			return true
		}
		*r = plan.Record{Name: r.Name, Future: true, Dynamic: true, OwnerUID: "set", KubeNode: r.KubeNode}
	}
	return true
}
