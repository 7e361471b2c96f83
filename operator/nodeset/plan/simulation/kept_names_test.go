package simulation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// revisionFacts are the source of the workers of a revision.
type revisionFacts struct {
	slurmName func(ordinal int) string
	shape     int
}

// namesEvent is an event of focusNames.
func (w *simulation) namesEvent() {
	switch w.rand.IntN(12) {
	case 0:
		w.desired.Update.Partition = w.rand.IntN(4)
		w.logf("the partition is %d", w.desired.Update.Partition)
	case 1:
		w.renameWorkers()
	case 2, 3, 4:
		w.lostPodEvent()
	case 5:
		w.takePendingName()
	case 6, 7:
		w.reconcile(true)
	case 8:
		w.kubelet()
	case 9:
		w.schedule()
	case 10:
		w.desired.Replicas = min(w.rand.IntN(4), w.highestReplicas())
	default:
		w.readNodes()
		w.readJobs()
	}
}

// takePendingName is another NodeSet of the same name whose worker registers with the name of a worker that has not run yet.
func (w *simulation) takePendingName() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if w.slurm[name] == nil && w.pods[name].runningSince.IsZero() {
			w.slurm[name] = &simRecord{Record: plan.Record{Name: name, Dynamic: true, OwnerUID: otherNodeSetUID, OwnerName: "b/n"},
				jobs: map[uint32]bool{}, up: true}
			w.logf("a NodeSet of the same name takes %s, whose worker has not run", name)
			return
		}
	}
}

// checkDisplaced holds a plan to the promise that a worker which has not run yields to the owner of its Slurm node.
func (w *simulation) checkDisplaced(observed *plan.Observation, steps []plan.Step) {
	if !observed.Slurm.Fresh || w.desired.Deleting || w.hasMismatch() {
		return
	}
	for _, worker := range observed.Workers {
		if !worker.NeverStarted || !worker.DeletedAt.IsZero() || worker.Finished || !w.isReadAsOthers(worker.SlurmName) {
			continue
		}
		if !slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Verb == plan.DeletePod && s.Pod == worker.Pod }) {
			w.failf("worker %s has not run, and will take over the Slurm node of another NodeSet", worker.Pod)
		}
	}
}

// rememberRevision remembers the source of workers of the newest revision.
func (w *simulation) rememberRevision() {
	w.desired.RevisionName = w.desired.Revision
	w.madeOf[w.desired.Revision] = revisionFacts{slurmName: w.desired.SlurmName, shape: w.shape}
}

// slurmNameIn returns the name that an ordinal gets in a revision.
func (w *simulation) slurmNameIn(revision string, ordinal int) string {
	if facts, known := w.madeOf[revision]; known {
		return facts.slurmName(ordinal)
	}
	return w.desired.SlurmName(ordinal)
}

// shapeIn returns the shape of the workers of a revision, or of the NodeSet.
func (w *simulation) shapeIn(revision string) int {
	if facts, known := w.madeOf[revision]; known && revision != w.desired.Revision {
		return facts.shape
	}
	return w.shape
}

// nameOfNew returns the name of the worker that a step creates: the name in its revision, whatever the step contains.
func (w *simulation) nameOfNew(s plan.Step) string {
	return w.slurmNameIn(cmp.Or(s.Revision, w.desired.Revision), s.Slot.Ordinal)
}

// slurmName returns the name of an ordinal, in the revision that it keeps as far as the operator knows.
func (w *simulation) slurmName(ordinal int) string {
	if w.desired.Update.Partition == 0 {
		return w.desired.SlurmName(ordinal)
	}
	d := w.desired
	d.KeepNames(&plan.Observation{Workers: w.observeWorkers(), Revisions: w.stored})
	return d.SlurmName(ordinal)
}

// applyRevisions changes the revisions that the API server has.
func (w *simulation) applyRevisions(changes []plan.RevisionChange) {
	for _, c := range changes {
		i := slices.IndexFunc(w.stored, func(r plan.Revision) bool { return r.Name == c.Name })
		switch {
		case c.Verb == plan.CreateRevision && i < 0:
			w.stored = append(w.stored, plan.Revision{Name: c.Name, Hash: c.Name, Number: c.Number, Owned: true})
		case c.Verb == plan.AnnotateRevision && i >= 0:
			w.stored[i].Ordinals = c.Ordinals
		case c.Verb == plan.DeleteRevision && i >= 0:
			w.stored = slices.Delete(w.stored, i, i+1)
		}
	}
}

// TestNoHistoryOfKeptNamesBreaksThePromise plays histories in which ordinals keep the names of old revisions.
func TestNoHistoryOfKeptNamesBreaksThePromise(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(*histories / 5) {
		w := playHistory(seed, plan.New(plan.DefaultConfig()), withFocus(focusNames))
		if w.broken != "" {
			t.Fatalf("history %d: %s\n%s", seed, w.broken, strings.Join(w.log, "\n"))
		}
		for _, line := range w.log {
			for _, event := range []string{"lost and runs on", "whose worker has not run", "its slurmd has not run yet", "the partition is 2"} {
				if strings.Contains(line, event) {
					counts[event]++
				}
			}
		}
	}
	t.Logf("%v", counts)
	if len(counts) < 4 {
		t.Errorf("these histories lack events: %v", counts)
	}
}

// TestBrokenRulesOfNamesAreNoticed breaks two rules. A worker gets only the name in its revision. A worker that has not run
// does not take another NodeSet's Slurm node.
func TestBrokenRulesOfNamesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	t.Run("the newest name is checked in place of the kept one", func(t *testing.T) {
		expectNotice(t, intact, "a second slurmd", withFocus(focusNames), func(w *simulation) {
			w.alterPlan = func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
				desired.SlurmNameIn = nil
				return p.Plan(now, desired, observed)
			}
		})
	})
	t.Run("a worker that has not run stays", func(t *testing.T) {
		rules := intact
		rules.OwnedByOther = func(*plan.SlurmReading, string) string { return "" }
		expectNotice(t, rules, "has not run", withFocus(focusNames))
	})
}
