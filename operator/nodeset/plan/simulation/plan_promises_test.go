package simulation

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// checkPlan compares the steps of a plan with the operator's knowledge at that time. The last look would prevent some of
// these steps: each of the two protections must work without the other.
func (w *simulation) checkPlan(observed *plan.Observation, steps []plan.Step) {
	created := map[string]bool{}
	recreated := 0
	for _, s := range steps {
		created[s.SlurmName] = created[s.SlurmName] || s.Verb == plan.CreatePod
		if s.Verb == plan.RecreateRecord {
			recreated++
		}
	}
	if records := max(len(w.operator.nodes), w.highestReplicas()); recreated > max(1, records/4) {
		w.failf("%d of %d records are created again at a time", recreated, records)
	}
	w.checkDisplaced(observed, steps)
	for _, s := range steps {
		_, read := w.operator.nodes[s.SlurmName]
		switch {
		case isDeletion(s):
			w.checkKnownReferences(s)
			w.checkNewNamesFirst(s, created)
		case s.Verb == plan.CreatePod && !read && w.operator.work[s.SlurmName].Jobs > 0:
			w.failf("a worker %s is to be made, and a job is known to run there", s.SlurmName)
		case s.Verb == plan.CreatePod:
			w.checkOrdinalOrder(observed, s.SlurmName, created)
		case s.Verb != plan.CreateRecords && s.Pod == "" && w.isKnownOwnedByOther(s.SlurmName):
			w.failf("%s of %s is planned, which is known to be somebody else's", s.Verb, s.SlurmName)
		}
	}
}

// checkKnownReferences checks that nothing known names a record that is deleted.
func (w *simulation) checkKnownReferences(s plan.Step) {
	switch by := w.operator.references[s.SlurmName]; {
	case w.operator.referencesProblem != "":
		w.failf("%s of %s, and it is not known what names it", s.Verb, s.SlurmName)
	case by != "":
		w.failf("%s of %s, and it is known that %s names it", s.Verb, s.SlurmName, by)
	}
}

// checkNewNamesFirst holds the deletion of a surplus record to the promise that jobs always find a node: the records of
// other workers exist before.
func (w *simulation) checkNewNamesFirst(s plan.Step, created map[string]bool) {
	if w.desired.Deleting || w.desired.MaxWorkers == nil || !w.desired.CanCreateRecords || !w.operator.nodes[s.SlurmName].Future ||
		s.Verb != plan.DeleteRecord || s.Precondition != plan.PreconditionUnregistered {
		return
	}
	for i := range *w.desired.MaxWorkers {
		name := w.slurmName(i)
		_, read := w.operator.nodes[name]
		_, worker := w.operator.pods[name]
		if !read && !worker && !created[name] && w.desired.ReservedNames[name] == "" {
			w.failf("the record %s is deleted before there is a record of %s", s.SlurmName, name)
		}
	}
}

// checkOrdinalOrder holds the choice of an ordinal to the promise that nodes which others drained come last.
func (w *simulation) checkOrdinalOrder(observed *plan.Observation, name string, created map[string]bool) {
	r := w.operator.nodes[name]
	if r.Future || r.Rebooting || !r.OutOfServiceByOthers() {
		return
	}
	for i := range w.desired.OrdinalsEnd(len(observed.Workers), 0) {
		if better := w.slurmName(i); !created[better] && w.isGoodOrdinal(observed, i) {
			w.failf("a worker %s is made, whose Slurm node is drained, and %s is free", name, better)
		}
	}
}

// isGoodOrdinal reports whether nothing is known to speak against a worker of an ordinal: it has a FUTURE record.
func (w *simulation) isGoodOrdinal(observed *plan.Observation, ordinal int) bool {
	name := w.slurmName(ordinal)
	r := observed.Slurm.Records[name]
	_, gone := observed.GoneSince[name]
	held := slices.ContainsFunc(observed.Workers, func(o plan.Worker) bool {
		return o.Slot.Ordinal == ordinal || o.SlurmName == name
	})
	return r.Future && r.Dynamic && r.OwnerUID == w.desired.UID && !r.OtherShape && !r.LacksGRES && !r.InvalidRegistration &&
		!held && !gone && w.desired.ReservedNames[name] == "" && observed.Slurm.Work[name].Jobs == 0
}

// delayJobs is a list of jobs that takes long while jobs start all the time. Scale-in must not wait for it.
func (w *simulation) delayJobs() {
	w.desired.Replicas = min(w.desired.Replicas, w.rand.IntN(3))
	w.logf("replicas %d, and the list of jobs is late", w.desired.Replicas)
	for range 8 {
		w.advanceTime(time.Second)
		w.schedule()
		w.readNodes()
		w.reconcile(false)
	}
	active, others, chosen := 0, 0, 0
	for name, p := range w.operator.pods {
		switch {
		case !p.deletedAt.IsZero(), p.finished:
		case p.scheduled && w.isReadAsOthers(name):
			others++
		default:
			if active++; w.pods[name] != nil && w.pods[name].drainMark.Cause == v1beta1.DrainCauseScaleIn {
				chosen++
			}
		}
	}
	excess := min(active, active+others-w.desired.WorkerCount())
	if w.observe().Slurm.Fresh && !w.hasMismatch() && !w.desired.Deleting && chosen < excess {
		w.failf("%d of %d surplus workers are chosen, and the others wait for a list of jobs", chosen, excess)
	}
}
