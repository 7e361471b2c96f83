package plan

import (
	"fmt"
	"slices"
	"time"
)

// A record keeps the resources from its creation: "scontrol update" changes only types of GRES. Slurm refuses a slurmd that reports
// less than its record, and drains the record. So a record of another shape is deleted and recreated while it is FUTURE and nothing
// names it. Workers are created on records of their own shape.

// recordsRecreated is the largest number of records that are recreated at a time. It is limited to a quarter of them, because a job
// that only missing records can run becomes BadConstraints.
const recordsRecreated = 10

// recreatePause is the pause before the next records are created again.
const recreatePause = time.Second

// acceptsWorker reports whether Slurm accepts a worker of the NodeSet's shape on a record. It accepts a slurmd that reports more than
// the record has; jobs then get the record's resources. If slurmctld lost the GRES of a record, a worker that takes it over has none.
func acceptsWorker(r Record) bool { return !r.ExceedsShape && !r.InvalidRegistration && !r.LostGRES }

// hasOldShape reports whether a record must be recreated before a worker of the newest revision gets it. Ordinals that keep an old
// revision keep their records.
func (b *planRun) hasOldShape(name string) bool {
	r, known := b.slurm.Records[name]
	return known && (r.OtherShape || r.InvalidRegistration || r.LostGRES) && !b.keepsOldRevision(name)
}

// keepsOldRevision reports whether the ordinal of a name keeps an old revision.
func (b *planRun) keepsOldRevision(name string) bool { return b.keptRevision(name) != "" }

// keptRevision returns the old revision that the ordinal of a name keeps, or an empty string.
func (b *planRun) keptRevision(name string) string { return b.keptByName[name] }

// awaitsNewShape reports whether no worker may be created with a name before its record is created again. A worker
// gets a record of another shape only if Slurm accepts the worker, and the record must stay or cannot be created. The reservation of
// a scheduled update keeps a record no longer than its outdated worker.
func (b *planRun) awaitsNewShape(name string) bool {
	r := b.slurm.Records[name]
	if r.LacksGRES && !r.LostGRES && !b.keepsOldRevision(name) {
		return true // they are being written
	}
	accepted := b.rules.AcceptsWorker(r)
	if !b.hasOldShape(name) || accepted && !b.desired.PerKubeNode && !b.desired.CanCreateRecords {
		return false
	}
	reason := b.keepsShape(r)
	if reason != "" && !accepted {
		b.oldShapesKept++
		b.keepOldShape(name, reason)
	}
	return reason == "" || !accepted || b.isInUpdate(name)
}

// keepsRefusedShape reports whether no worker can be created with a name, because its record must stay and Slurm refuses the worker.
func (b *planRun) keepsRefusedShape(name string) bool {
	r := b.slurm.Records[name]
	return b.hasOldShape(name) && !b.rules.AcceptsWorker(r) && b.keepsShape(r) != ""
}

// isInUpdate reports whether only the reservation of the NodeSet's scheduled update refers to a Slurm node.
func (b *planRun) isInUpdate(name string) bool {
	return slices.Contains([]string{"reservation " + shortReservation(b.desired), "reservation " + longReservation(b.desired)},
		b.slurm.References[name])
}

// keepsShape returns why a record cannot be created again, empty if it can.
func (b *planRun) keepsShape(r Record) string {
	switch {
	case !r.Future && b.rules.OutOfServiceByOthers(r) && !b.rules.HasFault(r):
		return "somebody took it out of service"
	case !b.isOurs(r):
		return "its comment names no NodeSet"
	}
	return b.rules.KeepsRecord(b.slurm, r.Name)
}

// renewRecord recreates a FUTURE record of another shape, unless it must stay. While the maximum is unknown, it recreates only
// records that workers need now. If the operator cannot create the record, renewRecord deletes a record that Slurm would not give to
// the worker: slurmd creates its own.
func (b *planRun) renewRecord(r Record, wanted bool) {
	reason := b.rules.KeepsRecord(b.slurm, r.Name)
	needed := b.wantedNames[r.Name]
	switch {
	case !b.hasOldShape(r.Name):
	case reason != "":
		b.keepOldShape(r.Name, reason)
	case b.desired.PerKubeNode || !b.desired.CanCreateRecords:
		if needed {
			b.addStep(Step{Verb: DeleteRecord, SlurmName: r.Name, Precondition: PreconditionFuture,
				Reason: "it has another shape than the worker to be created"})
		}
	case needed || wanted && b.rules.HasKnownMaximum(b.desired):
		b.renewable = append(b.renewable, r.Name)
	}
}

// keepOldShape reports a record of another shape that must stay.
func (b *planRun) keepOldShape(name, reason string) {
	if b.actions.OldShapes == nil {
		b.actions.OldShapes = map[string]string{}
	}
	b.actions.OldShapes[name] = reason
}

// hasRecord reports whether Slurm has a record of a name.
func (b *planRun) hasRecord(name string) bool {
	_, has := b.slurm.Records[name]
	return has
}

// recreateRecords recreates some of the given number of records if they have another shape. Records for workers to create come first.
// It waits while records are missing: Slurm may refuse the new shape.
func (b *planRun) recreateRecords(records int) {
	slices.SortStableFunc(b.renewable, func(x, y string) int {
		switch {
		case b.wantedNames[x] == b.wantedNames[y]:
			return 0
		case b.wantedNames[x]:
			return -1
		}
		return 1
	})
	limit := min(len(b.renewable), max(1, min(records/4, recordsRecreated)))
	if b.recordsMissing {
		limit = 0
		for _, name := range b.renewable {
			b.keepOldShape(name, "records of other workers could not be created yet")
		}
	}
	for _, name := range b.renewable[:limit] {
		reason := "the shape of the workers has changed"
		switch r := b.slurm.Records[name]; {
		case r.InvalidRegistration:
			reason = fmt.Sprintf("Slurm refused the slurmd of its worker (%s)", r.Refusal)
		case r.LostGRES:
			reason = "slurmctld lost its GRES and refuses to restore them"
		}
		b.addStep(Step{Verb: RecreateRecord, SlurmName: name, Precondition: PreconditionFuture, Reason: reason})
	}
	if limit < len(b.renewable) {
		b.requeueAt(b.now.Add(recreatePause))
	}
}
