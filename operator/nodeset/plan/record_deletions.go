package plan

import (
	"cmp"
	"fmt"
	"maps"
)

// hasKnownMaximum reports whether the names of all possible workers are known.
func hasKnownMaximum(d *Desired) bool {
	return d.Deleting || d.PerKubeNode || !d.Frozen && d.MaxWorkers != nil && d.CanCreateRecords
}

// futureNames returns the names of workers that may be created. While the maximum is not known, the last known one
// counts: the FUTURE records show it.
func (b *planRun) futureNames() map[string]bool {
	out := map[string]bool{}
	switch {
	case !b.rules.HasKnownMaximum(b.desired):
		b.addLastKnownNames(out)
	case !b.desired.Deleting && !b.desired.PerKubeNode && b.desired.MaxWorkers != nil:
		for i := range *b.desired.MaxWorkers {
			out[b.desired.SlurmName(i)] = true
		}
	}
	maps.DeleteFunc(out, func(name string, _ bool) bool { return name == "" || b.rules.ReservedFor(b.desired, name) != "" })
	return out
}

// addLastKnownNames adds the names of the FUTURE records, and of all lower ordinals.
func (b *planRun) addLastKnownNames(to map[string]bool) {
	for name, r := range b.slurm.Records {
		if r.Future && b.isOurs(r) {
			to[name] = true
		}
	}
	if b.desired.Frozen { // the names of workers are not known
		return
	}
	names := make([]string, len(b.slurm.Records)+len(b.observed.Workers))
	known := 0
	for i := range names {
		if names[i] = b.desired.SlurmName(i); to[names[i]] {
			known = i
		}
	}
	for _, name := range names[:known] {
		to[name] = true
	}
}

// settleSurplusRecord deletes a FUTURE record that the NodeSet does not want, unless it must stay.
func (b *planRun) settleSurplusRecord(name, neededBy string) {
	reason := cmp.Or(b.rules.KeepsRecord(b.slurm, name), neededBy)
	since, known := b.observed.SurplusSince[name]
	if !known {
		since = b.now
	}
	end := since.Add(b.rules.Config.SurplusRecordsKept)
	switch {
	case reason != "":
		b.keepRecord(name, reason)
	case b.desired.Deleting:
		b.deleteFutureRecord(name)
	case b.now.Before(end):
		b.requeueAt(end)
	case b.recordsMissing: // other names first, so that jobs always find a node
		b.keepRecord(name, "records of other workers could not be created yet")
	default:
		b.deleteFutureRecord(name)
	}
}

// settleSurplusRecords deletes the FUTURE records that the NodeSet does not want, except those that must stay. Names
// keep the records of a NodeSet that is being deleted, needs do not.
func (b *planRun) settleSurplusRecords() {
	var needed map[string]string
	if len(b.surplus) > 0 && !b.desired.Deleting {
		b.actions.Surplus = Surplus{Records: b.surplus, LeavesNone: b.leavesNone()}
		needed = b.rules.NeededRecords(b.slurm, b.actions.Surplus)
	}
	for _, name := range b.surplus {
		b.settleSurplusRecord(name, needed[name])
	}
}

// leavesNone reports whether the NodeSet has no worker, and no record that is not surplus.
func (b *planRun) leavesNone() bool {
	own := 0
	for _, r := range b.slurm.Records {
		if b.isOurs(r) {
			own++
		}
	}
	return len(b.observed.Workers)+len(b.usedSlurmNames) == 0 && own == len(b.surplus)
}

// deleteFutureRecord deletes a FUTURE record.
func (b *planRun) deleteFutureRecord(name string) {
	b.addStep(Step{Verb: DeleteRecord, SlurmName: name, Precondition: PreconditionUnregistered,
		Reason: "the NodeSet will not create this worker"})
}

// isDeletedWithPod reports whether a drained record without a pod is deleted at once. A record that something names,
// or that a fallen maximum excludes, becomes FUTURE instead.
func (b *planRun) isDeletedWithPod(r Record) bool {
	atOnce := b.desired.Deleting || b.desired.PerKubeNode || !b.rules.HasKnownMaximum(b.desired)
	return atOnce && b.rules.KeepsRecord(b.slurm, r.Name) == ""
}

func (b *planRun) keepRecord(name, reason string) {
	if b.actions.KeptRecords == nil {
		b.actions.KeptRecords = map[string]string{}
	}
	b.actions.KeptRecords[name] = reason
}

// keepsRecord returns why a record must stay, or an empty string. Without it slurmctld ends the jobs that name the
// node at the next reconfigure or start, deletes reservations, and does not start with partitions that name the
// node.
func keepsRecord(s *SlurmReading, slurmNode string) string {
	if s.ReferencesProblem != "" {
		return "it is not known which jobs name it: " + s.ReferencesProblem
	}
	if by := s.References[slurmNode]; by != "" {
		return fmt.Sprintf("%s names it", by)
	}
	return ""
}
