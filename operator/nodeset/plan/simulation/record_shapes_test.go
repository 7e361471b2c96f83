package simulation

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// changeShape changes the resources of the workers, and so their revision. Some return to an earlier shape.
func (w *simulation) changeShape() {
	w.shape = w.rand.IntN(3)
	w.desired.Revision += "s"
	w.logf("the shape is %d", w.shape)
}

func (w *simulation) shapeFocusEvent() {
	switch w.rand.IntN(10) {
	case 9:
		w.readConfiguration()
	case 0:
		w.changeShape()
	case 1:
		w.recordEvent()
	case 2, 3:
		w.reconcile(true)
	case 4, 5:
		w.readNodes()
		w.readJobs()
	case 6:
		w.advanceTime(time.Duration(w.rand.IntN(30)) * time.Second)
	case 7:
		w.desired.Replicas = min(w.rand.IntN(6), w.highestReplicas())
	case 8:
		w.kubelet()
	}
}

// compareShapes compares the records of a reading with the shape that the workers have now.
func (w *simulation) compareShapes(records map[string]plan.Record) {
	for name, r := range records {
		if shape, known := w.operator.shapes[name]; known && r.Dynamic && r.OwnerUID == w.desired.UID {
			r.OtherShape, r.ExceedsShape = shape != w.shape, shape > w.shape
			records[name] = r
		}
	}
}

// refuseSlurmd is the registration of a slurmd that reports less than its record has.
func (w *simulation) refuseSlurmd(n *simRecord) {
	w.logf("Slurm refuses the slurmd of %s", n.Name)
	n.Drain, n.reason, n.OurReason = true, "Low CPUs", false
	if n.Future {
		n.InvalidRegistration, n.Refusal = true, "Low CPUs"
	}
}

// isDeletion reports whether a step deletes a record.
func isDeletion(s plan.Step) bool {
	return s.Verb == plan.DeleteRecord || s.Verb == plan.RecreateRecord
}

// recreateRecord deletes a record and creates it again, unless the process is killed before that.
func (w *simulation) recreateRecord(n *simRecord) bool {
	if w.records.named[n.Name] > 0 {
		w.failf("the record %s is created again, and jobs that name it end", n.Name)
	}
	if !n.Future || w.pods[n.Name] != nil && len(w.pods[n.Name].work) > 0 {
		w.failf("the record %s is created again, which has a worker", n.Name)
	}
	delete(w.lost, n.Name)
	delete(w.slurm, n.Name)
	w.operator.shapes[n.Name] = w.shape // until the next reading
	if !w.calm && w.chance(10) {
		w.logf("killed before the creation of %s", n.Name)
		w.restart()
		return false
	}
	w.slurm[n.Name] = &simRecord{Record: plan.Record{Name: n.Name, Future: true, Dynamic: true, OwnerUID: w.desired.UID},
		jobs: map[uint32]bool{}, shape: w.shape, gres: w.newGRES()}
	return true
}

// checkShape holds the creation of a worker to the promise that Slurm accepts it on the record that was read.
func (w *simulation) checkShape(name string, of int) {
	if shape, known := w.operator.shapes[name]; known && shape > of && w.operator.nodes[name].OwnerUID == w.desired.UID {
		w.failf("a worker of shape %d is made on the record %s of shape %d", of, name, shape)
	}
}

// resumeLargerRecords plays an administrator who resumes nodes that no worker can get while they are out of service.
func (w *simulation) resumeLargerRecords() {
	for name, n := range w.slurm {
		if n.shape > w.shape && n.Foreign() && !n.Future && w.isOurs(n) {
			w.resumeNode(name)
		}
	}
}

// checkShapesAtRest checks that the wanted records without a worker have the shape of the NodeSet.
func (w *simulation) checkShapesAtRest() {
	if w.broken != "" || w.desired.MaxWorkers == nil || !w.desired.CanCreateRecords || w.desired.Deleting {
		return
	}
	for i := w.desired.Update.Partition; i < *w.desired.MaxWorkers; i++ { // those below may keep their revision
		name := w.slurmName(i)
		if n := w.slurm[name]; n != nil && w.pods[name] == nil && n.Future && w.isOurs(n) && (n.shape != w.shape || n.InvalidRegistration) {
			w.failf("at rest the record %s has shape %d, not %d: %+v", name, n.shape, w.shape, n.Record)
		}
	}
}

// TestBrokenShapeRulesAreNoticed breaks one rule about the shape of records at a time.
func TestBrokenShapeRulesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, change := range map[string]func(*plan.Rules, *faults){
		"workers are created on records of any shape": func(rules *plan.Rules, _ *faults) {
			rules.AcceptsWorker = func(plan.Record) bool { return true }
		},
		"records are created again although jobs name them": func(rules *plan.Rules, f *faults) {
			rules.KeepsRecord, f.skipReferences = func(*plan.SlurmReading, string) string { return "" }, true
		},
		"the last look at what names a record is left out": func(_ *plan.Rules, f *faults) { f.skipReferences = true },
	} {
		t.Run(name, func(t *testing.T) {
			rules, broken := intact, faults{}
			change(&rules, &broken)
			expectBrokenPromise(t, rules, func(w *simulation) { w.faults, w.focus = broken, focusShapes })
		})
	}
}
