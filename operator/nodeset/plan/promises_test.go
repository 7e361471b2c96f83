package plan

// checkBudget holds the choice of workers for an update to the budget.
func (w *world) checkBudget(observed *Seen, steps []Step) {
	causes := map[string]string{}
	for _, p := range observed.Workers {
		if p.Running && p.Going.IsZero() && !p.Finished && !w.shownTaken(p.SlurmName) {
			causes[p.Pod] = p.Note.Cause
		}
	}
	before := countUpdates(causes)
	for _, s := range steps {
		if _, runs := causes[s.Pod]; runs && s.Verb == Notes {
			causes[s.Pod] = s.Note.Cause
		}
	}
	chosen := countUpdates(causes)
	switch limit := w.desired.Update.MaxUnavailable; {
	case !observed.Slurm.Fresh || w.clashes() || w.desired.Deleting:
	case chosen > limit:
		w.fail("%d workers are chosen for an update at a time", chosen)
	case before > limit && w.desired.Update.Open:
		w.say("above the budget %d workers were chosen", before)
	}
}

// checkHolds looks at what others may rely on.
func (w *world) checkHolds() {
	for _, p := range w.pods {
		if len(p.work) > 0 && !p.note.Protect && !p.loose && p.going.IsZero() {
			w.fail("pod %s has work and is not protected", p.name)
		}
	}
	for name := range w.held {
		if n := w.slurm[name]; n == nil || n.Future || !n.Foreign() || n.reason != "bad memory" {
			w.fail("%s is not out of service any more, as an administrator had it", name)
		}
	}
}

// checkTime holds a deletion of a worker that is not registered to the time that it has to
// register, and to the brake.
func (w *world) checkTime(s Step, p *simPod) {
	if s.Look != LookUnregistered && s.Look != LookFuture {
		return
	}
	cfg, since := DefaultConfig(), p.created
	if p.running {
		since = p.runningSince
	}
	if w.now.Before(since.Add(cfg.RegisterWithin)) {
		w.fail("pod %s was deleted before it had time to register", p.name)
	}
	for _, t := range w.unregistered { // the share of so few workers is one
		if w.now.Before(t.Add(cfg.BrakeInterval)) {
			w.fail("pod %s was deleted within the brake's interval of another", p.name)
		}
	}
}

func countUpdates(causes map[string]string) int {
	count := 0
	for _, cause := range causes {
		if cause == update {
			count++
		}
	}
	return count
}

// openNodes are the Slurm nodes without a worker that the operator knows to be held and
// open, as they are: nothing keeps it from closing them.
func (w *world) openNodes(observed *Seen) map[string]bool {
	open := map[string]bool{}
	for name, r := range w.op.nodes {
		_, worker := w.op.pods[name]
		if observed.Slurm.Fresh && !w.clashes() && !w.dead && !w.swapped && !worker && r.Held && !r.Drain && r.Owner == w.desired.UID && w.isOpen(name) {
			open[name] = true
		}
	}
	return open
}

// isOpen reports that an administrator holds a Slurm node, which may still return by itself.
func (w *world) isOpen(name string) bool {
	n := w.slurm[name]
	return n != nil && n.holds() && !n.Drain && w.held[name]
}
