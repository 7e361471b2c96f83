package plan

import (
	"fmt"
	"time"
)

// reconcile is one run of the operator: it plans on what it has and applies the
// steps, of which each may fail, and at each of which the process may be killed.
func (w *world) reconcile(faults bool) Todo {
	if w.desired.Joins == "b" && len(w.pods) == 0 {
		w.repoint()
	}
	if !faults || w.chance(80) {
		w.readPods()
	}
	observed := w.observed()
	w.sayMixed()
	actions := w.plan(observed)
	w.checkBudget(&observed, actions.Steps)
	skip, open, exchanges := map[string]bool{}, w.openNodes(&observed), w.exchanges
	for _, s := range actions.Steps {
		if skip[s.Pod+s.SlurmName] {
			continue
		}
		lost := faults && w.chance(5) // done, though the answer was lost
		if !w.apply(s) || lost {
			skip[s.Pod+s.SlurmName] = true
		}
		if faults && w.chance(3) {
			w.exchange()
		}
		if faults && w.chance(2) {
			w.say("operator killed")
			w.restart()
			return actions
		}
	}
	for name := range open {
		w.leftOpen[name] = exchanges == w.exchanges && w.isOpen(name)
	}
	return actions
}

// plan decides, by the planner or by what a test has in its place.
func (w *world) plan(observed Seen) Todo {
	if w.alter != nil {
		return w.alter(w.op.planner, w.now, w.desired, observed)
	}
	return w.op.planner.Plan(w.now, w.desired, observed)
}

// apply takes a step and reports whether it was taken.
func (w *world) apply(s Step) bool {
	w.say("%s %s%s %v %s", s.Verb, s.Pod, s.SlurmName, s.Names, s.Reason)
	if s.Verb != Adopt && s.Verb != Notes && w.clashes() {
		w.fail("%s of %s%s on a reading of another Slurm cluster", s.Verb, s.Pod, s.SlurmName)
		return false
	}
	switch s.Verb {
	case Create:
		if name := w.desired.SlurmName(s.Slot.Ordinal); w.op.nodesAt.IsZero() || w.shownTaken(name) {
			w.fail("worker %s is made, and its Slurm node is another NodeSet's, or may be", name)
		}
		return w.createPod(s)
	case Adopt:
		return w.adopt(s)
	case Notes:
		return w.onPod(s, func(p *simPod) { p.note = s.Note })
	case Delete:
		return w.deletePod(s)
	}
	// What was written, or may have been, is proof of nothing until it is read.
	delete(w.op.drained, s.SlurmName)
	if w.dead || !w.look(s) {
		return false
	}
	if w.swapped {
		w.fail("%s of %s%v is written to another Slurm cluster", s.Verb, s.SlurmName, s.Names)
		return false
	}
	return w.write(s)
}

func (w *world) createPod(s Step) bool {
	name := w.desired.SlurmName(s.Slot.Ordinal)
	if w.pods[name] != nil {
		return false // AlreadyExists
	}
	read := w.op.nodes[name]
	shown := read.Held && !read.Drain && w.observed().Slurm.Fresh
	if n := w.slurm[name]; n != nil && w.held[name] && !n.Drain && !n.fail && (shown || w.leftOpen[name]) {
		w.fail("a worker is made that ends an administrator's DOWN by registering")
	}
	w.uids++
	w.pods[name] = &simPod{name: name, uid: fmt.Sprint(w.uids), ordinal: s.Slot.Ordinal, revision: w.desired.Revision, created: w.now, joined: w.desired.Joins, work: map[uint32]bool{}, stuck: w.chance(10), refused: !w.calm && w.chance(10), note: Note{Protect: true}}
	return true
}

// onPod changes a pod that still is as it was seen.
func (w *world) onPod(s Step, change func(*simPod)) bool {
	p, observed := w.pods[s.Pod], w.op.pods[s.Pod]
	if p == nil || p.uid != s.UID || p.version != observed.version {
		return false // NotFound or Conflict
	}
	change(p)
	p.version++
	observed.version, observed.note, observed.bond = p.version, p.note, p.bond
	w.op.pods[s.Pod] = observed
	return true
}

func (w *world) deletePod(s Step) bool {
	if !w.look(s) {
		return false
	}
	return w.onPod(s, func(p *simPod) {
		w.checkTime(s, p)
		if len(p.work) > 0 && !w.desired.Policy.Force && (w.desired.Policy.Timeout == 0 || w.now.Sub(p.note.Since) < w.desired.Policy.Timeout) {
			w.fail("pod %s was deleted with %d jobs on it: %s", p.name, len(p.work), s.Reason)
		}
		if s.Look == LookUnregistered || s.Look == LookFuture {
			w.op.unregistered, w.unregistered = append(w.op.unregistered, w.now), append(w.unregistered, w.now)
		}
		p.going = w.now
	})
}

// write changes Slurm.
func (w *world) write(s Step) bool {
	if s.Verb == Records {
		for _, name := range s.Names {
			if w.shownTaken(name) {
				w.fail("a record of %s is made, which is another NodeSet's", name)
			}
			if w.slurm[name] == nil {
				w.slurm[name] = &simRecord{Record: Record{Name: name, Future: true, Dynamic: true, Owner: w.desired.UID}, jobs: map[uint32]bool{}}
			}
		}
		return true
	}
	n := w.slurm[s.SlurmName]
	if n == nil {
		return false
	}
	if n.Owner == neighbour {
		w.fail("%s of %s, which is another NodeSet's", s.Verb, s.SlurmName)
	}
	if n.Foreign() && n.reason != "" && s.Verb != Close {
		w.fail("%s of %s, that somebody else took out of service", s.Verb, s.SlurmName)
	}
	switch s.Verb {
	case Close:
		n.Drain = true
	case Drain:
		n.Drain, n.Ours, n.reason = true, true, s.Reason
	case Undrain:
		n.Drain, n.Ours, n.reason = false, false, ""
	case Unmark:
		n.Ours, n.reason = false, ""
	case Resume:
		n.Drain, n.Down, n.Ours, n.reason = false, false, false, ""
	case Retire, Forget:
		if p := w.pods[s.SlurmName]; len(n.jobs) > 0 || p != nil && len(p.work) > 0 {
			w.fail("%s of the record %s, that has a job", s.Verb, s.SlurmName)
		}
		if s.Verb == Forget {
			delete(w.slurm, s.SlurmName)
			return true
		}
		n.Record = Record{Name: n.Name, Future: true, Dynamic: true, Owner: w.desired.UID}
		n.up, n.reason, n.fail = false, "", false
	}
	return true
}

// join is what slurmd's registration does.
func (w *world) join(p *simPod) {
	n := w.slurm[p.name]
	if n == nil || n.Future {
		n = &simRecord{Record: Record{Name: p.name, Dynamic: true}, jobs: map[uint32]bool{}}
		w.slurm[p.name] = n
	}
	n.up, n.Owner, n.IdleSince = true, w.desired.UID, w.now
	if n.reason == "" || w.returnToService == 2 {
		n.Down = false // ReturnToService, which leaves the reason
	}
	if !n.Foreign() {
		delete(w.held, p.name)
	}
	p.joins = true
}

// end takes a job away from wherever it is.
func (w *world) end(id uint32) {
	j := w.jobs[id]
	if j == nil {
		return
	}
	if n := w.slurm[j.node]; n != nil {
		delete(n.jobs, id)
		n.IdleSince = w.now
	}
	if p := w.pods[j.node]; p != nil {
		delete(p.work, id)
	}
	delete(w.jobs, id)
}

// lose ends a pod with all that runs in it.
func (w *world) lose(p *simPod) {
	delete(w.pods, p.name)
	if n := w.slurm[p.name]; n != nil && n.Owner != neighbour {
		for id := range n.jobs {
			w.end(id)
		}
		n.up = false
	}
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }
