package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// surplusKept is how long a FUTURE record stays after it was last wanted.
const surplusKept = 5 * time.Minute

// partition has all Slurm nodes.
const partition = "all"

// recordFacts are the input of the promises about records.
type recordFacts struct {
	// named are the held jobs that name Slurm nodes (sbatch -w), by node.
	named map[string]int
	// wantedAt is when a record was last below a known maximum, by name.
	wantedAt map[string]time.Time
	// maximum is the last known maximum.
	maximum *int
	// unreadable: slurmrestd does not list the references to Slurm nodes. refused: slurmctld refuses new records.
	unreadable, refused bool
	// requested is the number of nodes that a pending job requests, 0 without a job. All Slurm nodes are in its partition,
	// and others.
	requested, others int
}

// recordEvent is a job that names or requests nodes, or ends, or a maximum that changes or is not known for a while.
func (w *simulation) recordEvent() {
	switch w.rand.IntN(9) {
	case 8:
		w.records.unreadable = !w.records.unreadable
		w.logf("what names a Slurm node cannot be read: %v", w.records.unreadable)
	case 7:
		w.records.refused = !w.records.refused
		w.renameWorkers()
	case 6:
		w.reserveName()
	case 0, 1:
		w.submitJob()
	case 2:
		w.endPendingJobs()
	case 3, 4:
		if w.desired.MaxWorkers != nil {
			w.records.maximum, w.desired.MaxWorkers = w.desired.MaxWorkers, nil
			w.logf("the maximum is not known")
		} else {
			w.restoreMaximum()
		}
	case 5:
		if w.desired.MaxWorkers != nil {
			w.desired.MaxWorkers = new(w.rand.IntN(7))
			w.desired.Replicas = min(w.desired.Replicas, *w.desired.MaxWorkers)
			w.logf("the maximum is %d", *w.desired.MaxWorkers)
		}
	}
}

// submitJob submits a job that names a node or requests several.
func (w *simulation) submitJob() {
	if w.chance(40) {
		w.records.requested = 1 + w.rand.IntN(6)
		w.logf("a pending job requests %d nodes", w.records.requested)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		if w.chance(40) {
			w.records.named[name]++
			w.logf("a held job names %s", name)
			return
		}
	}
}

// endPendingJobs ends the job that requests nodes, or those that name one.
func (w *simulation) endPendingJobs() {
	if w.records.requested > 0 && w.chance(50) {
		w.records.requested = 0
		w.logf("the job that requests nodes ends")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.records.named)) {
		delete(w.records.named, name)
		w.logf("the jobs that name %s end", name)
		return
	}
}

// restoreMaximum makes a maximum known again that was not known for a while.
func (w *simulation) restoreMaximum() {
	if w.desired.MaxWorkers == nil && w.records.maximum != nil {
		w.desired.MaxWorkers = w.records.maximum
		w.desired.Replicas = min(w.desired.Replicas, *w.desired.MaxWorkers)
		w.logf("the maximum is %d", *w.desired.MaxWorkers)
	}
}

// hasKnownMaximum reports whether the operator can know which records the NodeSet wants.
func (w *simulation) hasKnownMaximum() bool {
	return w.desired.Deleting || w.desired.MaxWorkers != nil && w.desired.CanCreateRecords
}

// observeWantedRecords remembers which records are wanted when the operator plans.
func (w *simulation) observeWantedRecords() {
	if w.desired.MaxWorkers == nil || w.desired.Deleting {
		return
	}
	for i := range *w.desired.MaxWorkers {
		if name := w.slurmName(i); w.desired.ReservedNames[name] == "" {
			w.records.wantedAt[name] = w.now
		}
	}
}

// checkRecordDeletion checks the promises about the deletion of a record. No job ends because of it. No record is deleted
// while the maximum is unknown, unless another owner has its name. None is deleted within minutes after the maximum fell, or
// while a pending job needs it.
func (w *simulation) checkRecordDeletion(n *simRecord) {
	switch {
	case w.records.named[n.Name] > 0:
		w.failf("the record %s is deleted, and jobs that name it end", n.Name)
	case w.desired.Deleting || !n.Future:
	case n.shape > w.shape || n.InvalidRegistration: // no worker of this name can join
	case !w.hasKnownMaximum() && w.desired.ReservedNames[n.Name] == "":
		w.failf("the record %s is deleted while the maximum is not known", n.Name)
	case w.now.Before(w.records.wantedAt[n.Name].Add(surplusKept)):
		w.failf("the record %s is deleted soon after it was wanted", n.Name)
	case w.records.requested >= len(w.slurm)+w.records.others:
		w.failf("the record %s is deleted, and too few nodes are left for a job that requests %d", n.Name, w.records.requested)
	case w.records.requested > 0 && w.isLastRecord():
		w.failf("the last record %s is deleted while a job is pending", n.Name)
	}
}

// isLastRecord reports whether the NodeSet has one record and no worker.
func (w *simulation) isLastRecord() bool {
	own := 0
	for _, n := range w.slurm {
		if w.isOurs(n) {
			own++
		}
	}
	return own == 1 && len(w.pods) == 0
}

// mayDeleteRecord is the last look at the references to a record and the need for it.
func (w *simulation) mayDeleteRecord(s plan.Step) bool {
	if !w.faults.skipReferences && (w.records.named[s.SlurmName] > 0 || w.records.unreadable) {
		return false
	}
	if w.faults.skipNeeds || s.Verb != plan.DeleteRecord {
		return true
	}
	records := map[string]plan.Record{}
	for name, n := range w.slurm {
		records[name] = w.record(n)
	}
	now := plan.SlurmReading{Records: records, NodesIn: w.countNodes(records), Pending: w.readPending()}
	return plan.NeededRecords(&now, w.operator.surplus)[s.SlurmName] == ""
}

// countNodes counts the nodes of the partition.
func (w *simulation) countNodes(records map[string]plan.Record) references.Nodes {
	out := references.Nodes{}
	for range w.records.others {
		out.Add([]string{partition}, nil)
	}
	for _, r := range records {
		out.Add(r.Partitions, r.Features)
	}
	return out
}

// readPending returns a poll's view of the pending job.
func (w *simulation) readPending() references.Pending {
	if w.records.requested == 0 {
		return nil
	}
	return references.PendingByPartition([]*slurm.Job{{ID: 8, Partition: partition,
		NodeCount: slurm.Num(uint64(w.records.requested)), State: slurm.JobState{Base: slurm.JobPending}}})
}

// readReferences returns a poll's view of the jobs that name Slurm nodes.
func (w *simulation) readReferences() map[string]string {
	out := map[string]string{}
	for name, jobs := range w.records.named {
		if jobs > 0 {
			out[name] = "job 7"
		}
	}
	return out
}

// rememberSurplus stores the surplus records in the process's memory.
func (w *simulation) rememberSurplus(surplus plan.Surplus) {
	w.operator.surplus = surplus
	w.operator.surplus.LeavesNone = surplus.LeavesNone && !w.faults.ignoreLastRecord
	since := map[string]time.Time{}
	for _, name := range surplus.Records {
		since[name] = w.now
		if before, known := w.operator.surplusSince[name]; known {
			since[name] = before
		}
		if w.faults.forgetSurplusTime {
			since[name] = time.Time{}
		}
	}
	w.operator.surplusSince = since
}

// TestBrokenRecordRulesAreNoticed breaks one rule about records at a time.
func TestBrokenRecordRulesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, change := range map[string]func(*plan.Rules, *faults){
		"nobody asks what names a record": func(rules *plan.Rules, f *faults) {
			rules.KeepsRecord, f.skipReferences = func(*plan.SlurmReading, string) string { return "" }, true
		},
		"the last look at what names a record is left out": func(_ *plan.Rules, f *faults) { f.skipReferences = true },
		"nobody asks what pending jobs need": func(rules *plan.Rules, f *faults) {
			rules.NeededRecords = func(*plan.SlurmReading, plan.Surplus) map[string]string { return nil }
			f.skipNeeds = true
		},
		"the last record may be deleted while a job is pending": func(rules *plan.Rules, f *faults) {
			rules.NeededRecords = func(s *plan.SlurmReading, surplus plan.Surplus) map[string]string {
				return plan.NeededRecords(s, plan.Surplus{Records: surplus.Records})
			}
			f.ignoreLastRecord = true
		},
		"the last look at what pending jobs need is left out": func(_ *plan.Rules, f *faults) { f.skipNeeds = true },
		"an unknown maximum is zero": func(rules *plan.Rules, _ *faults) {
			rules.HasKnownMaximum = func(*plan.Desired) bool { return true }
		},
		"surplus records are deleted at once": func(_ *plan.Rules, f *faults) { f.forgetSurplusTime = true },
	} {
		t.Run(name, func(t *testing.T) {
			rules, broken := intact, faults{}
			change(&rules, &broken)
			expectBrokenPromise(t, rules, func(w *simulation) { w.faults, w.focus = broken, focusRecords })
		})
	}
}
