package simulation

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// reserveName creates a NodeSet with the name of a worker, or deletes it.
func (w *simulation) reserveName() {
	if w.desired.ReservedNames != nil {
		w.desired.ReservedNames = nil
		w.logf("no NodeSet has the name of a worker any more")
		return
	}
	name := w.desired.SlurmName(w.rand.IntN(4))
	w.desired.ReservedNames = map[string]string{name: "NodeSet " + name}
	w.logf("there is a NodeSet %s", name)
}

// checkUnreserved holds the creation of a Slurm node to the names of NodeSets: slurmctld ends with two of a name.
func (w *simulation) checkUnreserved(name string) {
	if owner := w.desired.ReservedNames[name]; owner != "" {
		w.failf("a Slurm node %s is made, which is the name of %s", name, owner)
	}
}

func TestBrokenRuleOfReservedNamesIsNoticed(t *testing.T) {
	rules := plan.DefaultRules(plan.DefaultConfig())
	rules.ReservedFor = func(*plan.Desired, string) string { return "" }
	expectBrokenPromise(t, rules, withFocus(focusRecords))
}

// renameWorkers changes the names of future workers, as spec.ordinalPadding does. Workers keep theirs until they are replaced.
func (w *simulation) renameWorkers() {
	format := "n-%02d"
	if w.desired.SlurmName(0) == "n-00" {
		format = "n-%d"
	}
	w.readPods()
	w.desired.SlurmName = func(i int) string { return fmt.Sprintf(format, i) }
	w.desired.Revision += "n"
	w.logf("workers are called %s and so on", w.desired.SlurmName(0))
}
