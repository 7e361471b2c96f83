package simulation

import (
	"maps"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// recordGRES are the generic resources of a record in slurmctld.
type recordGRES struct {
	// unwritten: they were not written after the creation of the record.
	unwritten bool
	// reads counts how often slurmctld was reconfigured or started since then.
	reads int
}

// areLost reports whether a worker that takes over the record has no GRES.
func (g recordGRES) areLost() bool { return g.unwritten && g.reads == 1 }

// readConfiguration is a slurmctld that is reconfigured or started: it loses the GRES of new records on which they were not
// written.
func (w *simulation) readConfiguration() {
	w.logf("slurmctld reads its configuration")
	for _, n := range w.slurm {
		if n.Future {
			n.gres.reads++
		}
	}
}

// writeGRES writes the GRES of a record, unless slurmctld refuses that.
func (w *simulation) writeGRES(n *simRecord) {
	if n.gres.areLost() {
		w.logf("slurmctld refuses the GRES of %s", n.Name)
		w.operator.gresRefused[n.Name] = w.now
		return
	}
	n.gres.unwritten = w.faults.skipGRES
}

// newGRES returns slurmctld's generic resources of a record that the operator just created. The process may be killed
// before it writes the GRES.
func (w *simulation) newGRES() recordGRES {
	if !w.calm && w.chance(10) {
		w.logf("killed before it writes the GRES")
		w.restart()
		return recordGRES{unwritten: true}
	}
	return recordGRES{unwritten: w.faults.skipGRES}
}

// compareGRES marks the records of a reading whose GRES must be written, or were refused.
func (w *simulation) compareGRES(records map[string]plan.Record) {
	for name, r := range records {
		if !r.Future || !r.Dynamic || r.OwnerUID != w.desired.UID || r.OtherShape || !w.operator.gresLacking[name] ||
			w.faults.skipGRES {
			continue
		}
		refusedAt, refused := w.operator.gresRefused[name]
		r.LacksGRES, r.LostGRES = true, refused
		r.OwnerMissing = !refused || !w.now.Before(refusedAt.Add(time.Minute))
		records[name] = r
	}
	maps.DeleteFunc(w.operator.gresRefused, func(name string, _ time.Time) bool { return !records[name].LacksGRES })
}

// checkGRES checks the promise that a worker whose slurmd registers has its GRES. A worker on a record of another shape has
// the record's GRES.
func (w *simulation) checkGRES(n *simRecord, p *simPod) {
	if n.Future && n.gres.areLost() && n.OwnerUID == w.desired.UID && n.shape == w.shape && p.shape == w.shape {
		w.failf("worker %s takes over a record whose GRES slurmctld lost", n.Name)
	}
}

// checkGRESAtRest checks that slurmctld knows the GRES of the wanted records.
func (w *simulation) checkGRESAtRest() {
	if w.broken != "" || w.desired.MaxWorkers == nil || !w.desired.CanCreateRecords || w.desired.Deleting {
		return
	}
	for i := range *w.desired.MaxWorkers {
		name := w.slurmName(i)
		if n := w.slurm[name]; n != nil && n.Future && w.isOurs(n) && w.pods[name] == nil && n.gres.unwritten {
			w.failf("at rest the GRES of the record %s are not written: %+v", name, n)
		}
	}
}

// TestBrokenGRESRulesAreNoticed breaks one rule about the GRES of records at a time.
func TestBrokenGRESRulesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, change := range map[string]func(*plan.Rules, *simulation){
		"GRES are not written after the creation of a record": func(_ *plan.Rules, w *simulation) { w.faults.skipGRES = true },
		"workers are created on records whose GRES are lost": func(rules *plan.Rules, _ *simulation) {
			rules.AcceptsWorker = func(r plan.Record) bool { return !r.ExceedsShape && !r.InvalidRegistration }
		},
		"GRES are never written later": func(_ *plan.Rules, w *simulation) {
			w.alterPlan = withoutSteps(func(_ *plan.Desired, s plan.Step) bool { return s.Verb == plan.AdoptRecords })
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := intact
			change(&rules, &simulation{})
			expectBrokenPromise(t, rules, func(w *simulation) {
				unused := intact
				w.focus = focusShapes
				change(&unused, w)
			})
		})
	}
}
