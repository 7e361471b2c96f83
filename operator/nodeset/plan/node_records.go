package plan

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// maintainRecords maintains Slurm's records of workers without a pod: FUTURE for workers that may be created, and
// none for others.
func (b *planRun) maintainRecords() {
	if !b.slurm.Fresh {
		return
	}
	wanted := b.futureNames()
	b.createMissingRecords(wanted)
	for _, name := range slices.Sorted(maps.Keys(b.slurm.Records)) {
		if record := b.slurm.Records[name]; !b.usedSlurmNames[name] && b.isOurs(record) {
			b.settleRecord(record, wanted[name])
		}
	}
	b.settleSurplusRecords()
	maps.DeleteFunc(wanted, func(name string, _ bool) bool { return !b.hasRecord(name) })
	b.recreateRecords(len(wanted))
	b.adoptRecords()
}

// createMissingRecords creates the FUTURE records that are missing.
func (b *planRun) createMissingRecords(wanted map[string]bool) {
	if !b.rules.HasKnownMaximum(b.desired) {
		return
	}
	missing := map[string][]string{} // by the revision whose shape they get
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := b.slurm.Records[name]; !there && !b.usedSlurmNames[name] && b.slurm.OwnedByOthers[name] == "" {
			revision := b.keptRevision(name)
			missing[revision] = append(missing[revision], name)
		}
	}
	for _, revision := range slices.Sorted(maps.Keys(missing)) {
		b.recordsMissing = true
		b.addStep(Step{Verb: CreateRecords, Names: missing[revision], Revision: revision,
			Reason: "jobs can be submitted for workers that do not exist yet"})
	}
}

// adoptRecords writes the owner on FUTURE records that lack it: the operator may have ended between
// their creation and that write. It also writes the shape that an earlier version did not write, changed
// features, and GRES that were not written.
func (b *planRun) adoptRecords() {
	if b.desired.Deleting {
		return
	}
	renewed := map[string]bool{}
	for _, name := range b.renewable {
		renewed[name] = true
	}
	var lacking []string
	for _, name := range slices.Sorted(maps.Keys(b.slurm.Records)) {
		if r := b.slurm.Records[name]; r.Future && r.OwnerMissing && !renewed[name] {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) > 0 {
		b.addStep(Step{Verb: AdoptRecords, Names: lacking, Reason: "their comments, features or GRES are not those of the NodeSet"})
	}
}

// isOurs reports whether a record belongs to this NodeSet: it is dynamic, and its comment names the NodeSet. A
// record without an owner also does, if no other NodeSet has its name and we put it out of service. A FUTURE record
// without an owner may be an administrator's.
func (b *planRun) isOurs(r Record) bool {
	if !r.Dynamic {
		return false
	}
	if r.OwnerUID != "" {
		return r.OwnerUID == b.desired.UID
	}
	return r.OurReason && !r.Future && !r.ForeignComment && b.rules.ReservedFor(b.desired, r.Name) == ""
}

// settleRecord moves a record without a pod to its final state. As for a pod, readings must show
// that it has no job and accepts none before it is removed.
func (b *planRun) settleRecord(r Record, wanted bool) {
	switch {
	case r.Future && (wanted || b.wantedNames[r.Name] && !b.desired.Deleting):
		b.renewRecord(r, wanted)
	case r.Future:
		b.surplus = append(b.surplus, r.Name)
	case b.rules.OutOfServiceByOthers(r) && !r.Drain:
		b.addDrain(Step{SlurmName: r.Name})
	case (wanted || !b.desired.PerKubeNode || b.desired.Deleting || b.isPrunable(r)) && b.settleFault(r, wanted):
	case b.rules.OutOfServiceByOthers(r):
		b.clearPod(r)
	case !r.OurReason && !wanted && !b.isUnwanted(r) && !b.wantedNames[r.Name]:
	case !r.Drain:
		b.addStep(Step{Verb: Drain, SlurmName: r.Name, Precondition: PreconditionUndrained,
			Reason: v1beta1.DrainReasonPrefix + "its pod is gone"})
	case r.Busy, b.slurm.Work[r.Name].Jobs > 0, !b.slurm.isDrained(r.Name):
	case wanted, !b.isDeletedWithPod(r):
		b.addStep(Step{Verb: MarkFuture, SlurmName: r.Name, Precondition: PreconditionDrainedByUs,
			Reason: "its pod is gone"})
	default:
		b.addStep(Step{Verb: DeleteRecord, SlurmName: r.Name, Precondition: PreconditionDrainedByUs,
			Reason: "its pod is gone"})
	}
}

// isUnwanted reports whether the worker of a record outside of futureNames does not come back: the NodeSet is being
// deleted, its records are pruned, or other ordinals replace it. A lost slurmd must not get jobs then.
func (b *planRun) isUnwanted(r Record) bool {
	return b.desired.Deleting || b.isPrunable(r) ||
		!b.desired.PerKubeNode && !b.desired.Frozen && !r.KubeNodeGone && !b.awaitsReading(r.Name)
}

// isPrunable reports whether the Kubernetes node of the record is gone and the NodeSet prunes such
// records.
func (b *planRun) isPrunable(r Record) bool { return b.desired.PruneRecords && r.KubeNodeGone }
