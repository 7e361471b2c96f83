package simulation

import (
	"cmp"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// reconcile is one run of the operator: it plans from its observation and applies the steps. Each step may
// fail, and the process may be killed at each.
func (w *simulation) reconcile(faults bool) plan.Actions {
	if w.desired.ClusterRef == "b" && len(w.pods) == 0 {
		w.changeClusterRef()
	}
	if !faults || w.operator.retriesCreation || w.chance(80) {
		w.readPods()
	}
	w.rememberRevision()
	w.observeWantedRecords()
	observed := w.observe()
	w.logMixedReading()
	actions := w.runPlanner(observed)
	if len(actions.Taken) > 0 {
		w.operator.expectations.TakenAt = w.now
	}
	w.rememberSurplus(actions.Surplus)
	w.checkBudget(&observed, actions.Steps)
	w.checkPlan(&observed, actions.Steps)
	w.applyRevisions(actions.Revisions)
	skip, open, exchanges, restarts := map[string]bool{}, w.openNodes(&observed), w.clusterSwitches, w.restarts
	for _, s := range actions.Steps {
		if skip[s.Pod+s.SlurmName] {
			continue
		}
		lost := faults && w.chance(5) // done, though the answer was lost
		if !w.applyStep(s) || lost {
			skip[s.Pod+s.SlurmName] = true
		}
		if lost && s.Verb == plan.CreatePod { // it waits after a failed creation, and its cache shows the pod then
			w.operator.retriesCreation = true
		}
		if w.restarts > restarts { // killed in the step
			return actions
		}
		if faults && w.chance(3) {
			w.switchCluster()
		}
		if faults && w.chance(2) {
			w.logf("operator killed")
			w.restart()
			return actions
		}
	}
	w.applyClaims(actions.Claims)
	for _, pod := range actions.LostBySlurm {
		if p := w.pods[pod]; p != nil {
			p.lossSeen = p.forgotten
		}
	}
	if !w.hasMismatch() {
		w.recordRegistrations(&observed)
	}
	for name := range open {
		w.leftOpen[name] = exchanges == w.clusterSwitches && w.isOpen(name)
	}
	return actions
}

// runPlanner decides with the planner, or with a test's replacement.
func (w *simulation) runPlanner(observed plan.Observation) plan.Actions {
	if w.alterPlan != nil {
		return w.alterPlan(w.operator.planner, w.now, w.desired, observed)
	}
	return w.operator.planner.Plan(w.now, w.desired, observed)
}

// applyStep takes a step and reports whether it was taken.
func (w *simulation) applyStep(s plan.Step) bool {
	w.logf("%s %s%s %v %s", s.Verb, s.Pod, s.SlurmName, s.Names, s.Reason)
	p := w.pods[s.Pod]
	// Neither a timeout that has ended nor a pod that is gone needs a reading; a late cache still shows such
	// a pod.
	forced := s.Verb == plan.DeletePod && (p == nil || w.isTimeoutOver(p))
	if s.Verb != plan.AdoptPod && s.Verb != plan.Annotate && !forced && w.hasMismatch() {
		w.failf("%s of %s%s on a reading of another Slurm cluster", s.Verb, s.Pod, s.SlurmName)
		return false
	}
	switch s.Verb {
	case plan.CreatePod:
		if name := w.nameOfNew(s); w.operator.nodesAt.IsZero() || w.isKnownOwnedByOther(name) {
			w.failf("worker %s is made, and its Slurm node is another NodeSet's, or may be", name)
		}
		if !w.checkPrecondition(s) {
			return false
		}
		return w.createPod(s)
	case plan.AdoptPod:
		return w.adoptPod(s)
	case plan.Annotate:
		return w.changePod(s, func(p *simPod) { p.drainMark = s.DrainMark })
	case plan.DeletePod:
		return w.deletePod(s)
	}
	// A written, or possibly written, state proves nothing until it is read.
	delete(w.operator.drained, s.SlurmName)
	if w.slurmrestdDown || !w.checkPrecondition(s) || isDeletion(s) && !w.mayDeleteRecord(s) {
		return false
	}
	if w.otherClusterAnswers && s.Verb == plan.AdoptRecords {
		return false // a ping shows that
	}
	if w.otherClusterAnswers {
		w.failf("%s of %s%v is written to another Slurm cluster", s.Verb, s.SlurmName, s.Names)
		return false
	}
	return w.writeSlurm(s)
}

func (w *simulation) createPod(s plan.Step) bool {
	name := w.nameOfNew(s)
	if w.pods[name] != nil {
		return false // AlreadyExists
	}
	read := w.operator.nodes[name]
	shown := read.DownByOthers && !read.Drain && w.observe().Slurm.Fresh
	if n := w.slurm[name]; n != nil && w.setByAdmin[name] && !n.Drain && !n.failing && (shown || w.leftOpen[name]) {
		w.failf("a worker is made that ends an administrator's DOWN by registering")
	}
	w.checkNameFree(name)
	w.checkUnreserved(name)
	revision := cmp.Or(s.Revision, w.desired.Revision)
	w.checkShape(name, w.shapeIn(revision))
	w.uids++
	w.claims[name] = plan.ClaimRetention{WhenScaled: true}
	w.pods[name] = &simPod{name: name, uid: fmt.Sprint(w.uids), ordinal: s.Slot.Ordinal, shape: w.shapeIn(revision), revision: revision,
		created: w.now, clusterRef: w.desired.ClusterRef, work: map[uint32]bool{}, stuck: w.chance(10),
		refused: !w.calm && w.chance(10), noAgent: w.chance(10), drainMark: plan.DrainMark{Protect: true}}
	w.operator.pods[name] = *w.pods[name] // the operator remembers a pod that it created until its cache shows it
	w.operator.store.RememberWorker(w.operator.expectations, name)
	return true
}

// changePod changes a pod that has not changed since it was seen.
func (w *simulation) changePod(s plan.Step, change func(*simPod)) bool {
	p, observed := w.pods[s.Pod], w.operator.pods[s.Pod]
	if p == nil || p.uid != s.UID || p.version != observed.version {
		return false // NotFound or Conflict
	}
	change(p)
	p.version++
	observed.version, observed.drainMark, observed.missingOwners = p.version, p.drainMark, p.missingOwners
	w.operator.pods[s.Pod] = observed
	return true
}

func (w *simulation) deletePod(s plan.Step) bool {
	if !w.checkPrecondition(s) {
		return false
	}
	return w.changePod(s, func(p *simPod) {
		w.checkTime(s, p)
		w.checkFlap(p)
		if len(p.work) > 0 && !w.isTimeoutOver(p) {
			w.failf("pod %s was deleted with %d jobs on it: %s", p.name, len(p.work), s.Reason)
		}
		if s.Precondition == plan.PreconditionUnregistered || s.Precondition == plan.PreconditionFuture {
			w.operator.unregistered, w.unregistered = append(w.operator.unregistered, w.now),
				append(w.unregistered, w.now)
		}
		p.deletedAt = w.now
	})
}

// writeSlurm changes Slurm.
func (w *simulation) writeSlurm(s plan.Step) bool {
	if s.Verb == plan.CreateRecords {
		if w.records.refused {
			w.logf("slurmctld refuses new records")
			return false
		}
		for _, name := range s.Names {
			if w.isKnownOwnedByOther(name) {
				w.failf("a record of %s is made, which is another NodeSet's", name)
			}
			w.checkUnreserved(name)
			if w.slurm[name] == nil {
				w.slurm[name] = &simRecord{Record: plan.Record{Name: name, Future: true, Dynamic: true,
					OwnerUID: w.desired.UID}, jobs: map[uint32]bool{}, shape: w.shapeIn(s.Revision), gres: w.newGRES()}
			}
		}
		return true
	}
	if s.Verb == plan.AdoptRecords {
		for _, name := range s.Names {
			if n := w.slurm[name]; n != nil && n.Future && n.OwnerUID == w.desired.UID {
				w.writeGRES(n)
			}
		}
		return true
	}
	n := w.slurm[s.SlurmName]
	if n == nil {
		return false
	}
	if n.OwnerUID == otherNodeSetUID && !(n.foreign && w.pods[n.Name] != nil) { // a comment of others does not part a worker and its node
		w.failf("%s of %s, which is another NodeSet's", s.Verb, s.SlurmName)
	}
	if n.Fault != "" {
		w.checkFaultWrite(s, n)
	} else if n.Foreign() && !n.InvalidRegistration && n.reason != "" && s.Verb != plan.AddDrain && s.Verb != plan.ClearPod {
		w.failf("%s of %s, that somebody else took out of service", s.Verb, s.SlurmName)
	}
	switch s.Verb {
	case plan.RecreateRecord:
		return w.recreateRecord(n)
	case plan.AddDrain:
		n.Drain = true
	case plan.ClearPod:
		n.Pod = ""
	case plan.Drain:
		n.Drain, n.OurReason, n.reason = true, true, s.Reason
		n.Fault, n.Rebooting = "", false
	case plan.Undrain:
		n.Drain, n.OurReason, n.reason = false, false, ""
		n.Fault, n.Rebooting = "", false
	case plan.ClearReason:
		n.OurReason, n.reason = false, ""
		n.Fault, n.Rebooting = "", false
	case plan.Resume:
		n.Drain, n.Down, n.OurReason, n.reason = false, false, false, ""
		n.Fault, n.Rebooting = "", false
	case plan.MarkFuture, plan.DeleteRecord:
		if p := w.pods[s.SlurmName]; len(n.jobs) > 0 || p != nil && len(p.work) > 0 {
			w.failf("%s of the record %s, that has a job", s.Verb, s.SlurmName)
		}
		delete(w.lost, s.SlurmName) // Slurm no longer knows its slurmd
		if s.Verb == plan.DeleteRecord {
			w.checkRecordDeletion(n)
			delete(w.slurm, s.SlurmName)
			return true
		}
		n.Record = plan.Record{Name: n.Name, Future: true, Dynamic: true, OwnerUID: w.desired.UID}
		n.up, n.reason, n.failing = false, "", false
	}
	return true
}

// registerSlurmd does what slurmd's registration does.
func (w *simulation) registerSlurmd(p *simPod) {
	n := w.slurm[p.name]
	if n != nil && n.Future && p.registeredAt.IsZero() && !w.calm && w.chance(1) {
		p.shape-- // the machine has less than the NodeSet states
	}
	if n != nil && n.shape > p.shape {
		w.refuseSlurmd(n)
		return
	}
	if n == nil || n.Future {
		if n != nil {
			w.checkGRES(n, p)
		}
		shape := p.shape
		if n != nil {
			shape = n.shape
		}
		n = &simRecord{Record: plan.Record{Name: p.name, Dynamic: true}, jobs: map[uint32]bool{}, shape: shape}
		w.slurm[p.name] = n
	}
	n.up, n.OwnerUID, n.Pod, n.IdleSince = true, w.desired.UID, p.name, w.now
	if n.reason == "" || w.returnToService == 2 {
		if n.Rebooting { // an IDLE node no longer reboots
			n.Fault = ""
		}
		n.Down, n.Rebooting = false, false // ReturnToService, which leaves the reason
	}
	if !n.Foreign() {
		delete(w.setByAdmin, p.name)
	}
	p.registered, p.forgotten, p.lossSeen = true, false, false
	delete(w.lost, p.name)
}

// endJob takes a job away from wherever it is.
func (w *simulation) endJob(id uint32) {
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
	if p := w.lost[j.node]; p != nil {
		delete(p.work, id)
	}
	delete(w.jobs, id)
}

// losePod ends a pod with all that runs in it.
func (w *simulation) losePod(p *simPod) {
	delete(w.pods, p.name)
	if n := w.slurm[p.name]; n != nil && n.OwnerUID != otherNodeSetUID {
		for id := range n.jobs {
			w.endJob(id)
		}
		n.up = false
	}
}

func (w *simulation) advanceTime(d time.Duration) { w.now = w.now.Add(d) }
