package plan

import (
	"slices"
	"time"
)

// createWorkers creates missing workers once Slurm has been read. A slurmd that registers with the name of another NodeSet's Slurm node
// would take over that node and its jobs. So would a slurmd with the name of a lost worker whose job a mixed reading does not show.
func (b *planRun) createWorkers() {
	switch {
	case b.desired.Deleting, b.desired.HoldsWorkers, !b.slurm.Known, b.slurm.Mixed:
	case b.desired.PerKubeNode:
		b.createPerKubeNode()
	default:
		b.createOrdinals()
	}
}

// createPerKubeNode creates a worker on each Kubernetes node that has no pod at all. A worker of scaling
// mode StatefulSet keeps its Kubernetes node until it is gone.
func (b *planRun) createPerKubeNode() {
	held := b.heldKubeNodes()
	for _, n := range b.desired.KubeNodes {
		if name := b.desired.SlurmNameOn(n); name != "" && !held[n] && b.ownsName(n) && !b.usedSlurmNames[name] && b.isNameFree(name) {
			b.createAt(Slot{Ordinal: NoOrdinal, KubeNode: n}, name)
		}
	}
}

// heldKubeNodes returns the Kubernetes nodes that have a pod.
func (b *planRun) heldKubeNodes() map[string]bool {
	held := map[string]bool{}
	for i := range b.observed.Workers {
		held[b.observed.Workers[i].Slot.KubeNode], held[b.observed.Workers[i].KubeNode] = true, true
	}
	return held
}

// createAt creates a worker. If others set its Slurm node DOWN or FAIL, the registration of its slurmd must not return the node to
// service.
func (b *planRun) createAt(slot Slot, name string) {
	b.useName(name)
	switch r := b.slurm.Records[name]; {
	case !b.slurm.Fresh, r.Future:
	case b.rules.OutOfServiceByOthers(r) && !r.Drain:
		b.addDrain(Step{SlurmName: name})
	case r.OwnerUID == b.desired.UID:
		b.settleFault(r, true)
	}
	revision, old := b.keptRevisions[slot.Ordinal]
	if !old {
		revision = b.desired.Revision
	}
	b.addStep(Step{Verb: CreatePod, Slot: slot, SlurmName: name, Revision: revision,
		Precondition: b.creationPrecondition(name)})
}

// createdAtOnce is the maximum number of workers that a plan creates. createPause is the pause before the next ones. The operator works
// for other NodeSets in between, and observes the state of the first ones.
const (
	createdAtOnce = 1000
	createPause   = time.Second
)

// createOrdinals creates workers at the lowest free ordinals. Last come ordinals whose Slurm node others took out of service; before
// them come ordinals whose record must keep another shape. It waits, for a limited time, for a terminating pod whose name another will
// use.
func (b *planRun) createOrdinals() {
	missing := b.desired.WorkerCount() - len(b.active) - len(b.finished) - len(b.ownedByOthers) - len(b.displaced) - len(b.exposed)
	for _, w := range b.deleting {
		if end := w.DeletedAt.Add(b.rules.Config.PodGoneWithin); b.now.Before(end) {
			missing--
			b.requeueAt(end)
		}
	}
	if missing > 0 {
		missing -= b.countAwaited()
	}
	free := b.freeOrdinals(min(missing, createdAtOnce))
	if missing > createdAtOnce && len(free) == createdAtOnce { // a shorter list means that no other is free
		b.requeueAt(b.now.Add(createPause))
	}
	for _, ordinal := range free {
		name := b.desired.SlurmName(ordinal)
		if name == "" && isWithin(b.now, b.observed.DisplacedAt, displacedPause) {
			b.requeueAt(b.observed.DisplacedAt.Add(displacedPause))
			continue
		}
		b.createAt(Slot{Ordinal: ordinal}, name)
	}
}

// isWithin reports whether less than a pause lies between two times. A time far in the future was written before the clock was set
// back.
func isWithin(now, at time.Time, pause time.Duration) bool { return now.Sub(at).Abs() < pause }

// displacedPause is the time without new workers after workers were displaced, for workers whose name is unknown before they are
// scheduled. A new worker may get the same Kubernetes node, and with it the same name.
const displacedPause = time.Minute

// freeOrdinals returns up to count ordinals without a pod, all below the maximum if one is set. A worker of scaling mode DaemonSet may
// have the name of an ordinal.
func (b *planRun) freeOrdinals(count int) []int {
	if count <= 0 {
		return nil
	}
	held, chosen := map[int]bool{}, map[string]bool{}
	for i := range b.observed.Workers {
		held[b.observed.Workers[i].Slot.Ordinal] = true
	}
	var good, oldShape, drained []int
	var kept []KeptName
	for i := 0; i < b.ordinalsEnd() && len(good) < count; i++ {
		name := b.desired.SlurmName(i)
		if !held[i] && b.isKept(name) {
			kept = append(kept, KeptName{Ordinal: i, SlurmName: name, Pod: b.holders[name].Pod})
		}
		if held[i] || b.usedSlurmNames[name] || chosen[name] || !b.isNameFree(name) {
			continue
		}
		chosen[name] = name != "" // the old name of one ordinal may be the new name of another
		switch {
		case b.slurm.Records[name].OutOfServiceByOthers() && !b.slurm.Records[name].returnsFromReboot():
			drained = append(drained, i)
		case b.hasOldShape(name):
			oldShape = append(oldShape, i)
		default:
			good = append(good, i)
		}
	}
	free := slices.Concat(good, oldShape, drained)
	if len(free) < count {
		b.actions.KeptNames = kept
	}
	return free[:min(count, len(free))]
}

// ordinalsEnd returns the first ordinal that no worker gets. Further ordinals replace names that cannot be used.
func (b *planRun) ordinalsEnd() int {
	return b.desired.OrdinalsEnd(len(b.observed.Workers), len(b.actions.Taken)+b.oldShapesKept+b.namesOfOthers)
}

// checkDeletionDone determines whether nothing remains of a NodeSet that is being deleted. Records do not delay the deletion if the
// Slurm cluster no longer exists. With Force they delay it only for a limited time, and not at all if Slurm was never read. Neither a
// stale reading nor one that began before the deletion ends the wait: records may have been created since.
func (b *planRun) checkDeletionDone() {
	if !b.desired.Deleting || len(b.observed.Workers) > 0 {
		return
	}
	left := !b.slurm.Fresh || b.hasRecordsLeft() || b.wasReadBeforeDeletion()
	if b.desired.DrainPolicy.Force {
		end := b.desired.DeletingSince.Add(b.rules.Config.RecordsGoneWithin)
		b.requeueAt(end)
		left = b.slurm.Known && left && b.now.Before(end)
	}
	b.actions.DeletionDone = !b.slurm.Connected || !left
}

// wasReadBeforeDeletion reports whether the nodes were read before or around the deletion of the
// NodeSet, so that records created until then may be missing. That is unknown if the clock of the
// API server is ahead of ours.
func (b *planRun) wasReadBeforeDeletion() bool {
	at, since := b.slurm.NodesReadAt, b.desired.DeletingSince
	return !at.IsZero() && !since.IsZero() && !b.now.Before(since) && at.Before(since.Add(deletionRaceWindow))
}

// deletionRaceWindow is the time after the deletion of a NodeSet in which a run that did not see the deletion may still create records.
const deletionRaceWindow = 3 * time.Second

// hasRecordsLeft reports whether records of the NodeSet are left that the operator may delete.
func (b *planRun) hasRecordsLeft() bool {
	for _, r := range b.slurm.Records {
		if b.isOurs(r) && (r.Future || !r.OutOfServiceByOthers() || r.HasFault()) {
			return true
		}
	}
	return false
}
