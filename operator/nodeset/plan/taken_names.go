package plan

import (
	"maps"
	"slices"
)

// A slurmd may outlive its pod: after "kubectl delete pod --force" while the kubelet is away, after the deletion of the
// Kubernetes node, and after the out-of-service taint. A second slurmd with its name takes over the Slurm node, and
// slurmctld ends the jobs of the first. So the name of a Slurm node without a pod is taken until readings show that it
// has no work and gets none.

// IsTaken reports whether a slurmd may still run with the name of a Slurm node that has no pod.
func IsTaken(s *SlurmReading, name string) bool { return isTaken(s, name) }

// isTaken reports whether a slurmd may still run with the name of a Slurm node that has no pod. A node
// that does not respond may respond again and get a job, unless it is drained or DOWN.
func isTaken(s *SlurmReading, name string) bool {
	record, known := s.Records[name]
	isDown := record.Down && !record.NotResponding
	switch {
	case record.Busy:
		return true
	case s.Work[name].Jobs > 0:
		// slurmctld ends the jobs of a node that goes DOWN. An older list of jobs still has them.
		return !isDown || !s.JobsReadAt.Before(s.NodesReadAt)
	case !known, record.Future, isDown:
		return false
	}
	return !record.Drain || !s.isDrained(name)
}

// takenNames returns the Slurm nodes without a pod whose names are taken, sorted. A node with work may be missing from
// the list of nodes.
func (b *planRun) takenNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.slurm.Records)), maps.Keys(b.slurm.Work))
	slices.Sort(names)
	var out []string
	for _, name := range slices.Compact(names) {
		if !b.usedSlurmNames[name] && !b.isOwnerUnknown(name) && b.rules.IsTaken(b.slurm, name) && !b.awaitsJobs(name) {
			out = append(out, name)
		}
	}
	return out
}

// findTakenNames determines the names that workers without a pod may still have.
func (b *planRun) findTakenNames() {
	b.actions.Taken = b.takenNames()
	for name := range b.observed.GoneSince {
		b.actions.AwaitsReading = b.actions.AwaitsReading || b.awaitsReading(name)
	}
	for name := range b.slurm.DrainedSince {
		b.actions.AwaitsReading = b.actions.AwaitsReading || b.awaitsJobs(name)
	}
}

// awaitsJobs reports whether only a list of jobs from after its drain is missing to free the name of a Slurm node without
// a pod. An operator that has just started has no such list. If the list does not arrive for long, the name is taken.
func (b *planRun) awaitsJobs(name string) bool {
	record, known := b.slurm.Records[name]
	since, drained := b.slurm.DrainedSince[name]
	return known && drained && record.Drain && !record.Busy && b.slurm.Work[name].Jobs == 0 && !b.usedSlurmNames[name] &&
		!b.isOwnerUnknown(name) && b.rules.IsTaken(b.slurm, name) && b.now.Before(since.Add(b.rules.Config.PodGoneWithin))
}

// awaitsReading reports whether the pod of a Slurm node disappeared after the last reading of Slurm, so that it is
// unknown whether its name is taken. A node that was drained without work still has none.
func (b *planRun) awaitsReading(name string) bool {
	gone, ok := b.observed.GoneSince[name]
	if !ok || b.usedSlurmNames[name] || !b.slurm.NodesReadAt.Before(gone) && !b.slurm.JobsReadAt.Before(gone) {
		return false
	}
	return !b.slurm.Records[name].Drain || b.rules.IsTaken(b.slurm, name)
}

// countAwaited counts the names that await a reading. Their workers may be created with the same names
// soon, so no others are created in their place, but not forever.
func (b *planRun) countAwaited() int {
	count := 0
	for name, gone := range b.observed.GoneSince {
		if end := gone.Add(b.rules.Config.PodGoneWithin); b.awaitsReading(name) && b.now.Before(end) {
			count++
			b.requeueAt(end)
		}
	}
	for name, since := range b.slurm.DrainedSince {
		if b.awaitsJobs(name) {
			count++
			b.requeueAt(since.Add(b.rules.Config.PodGoneWithin))
		}
	}
	return count
}

// isNameFree reports whether a worker may be created with the name of a Slurm node. It records why not.
func (b *planRun) isNameFree(name string) bool {
	switch unknown := b.isOwnerUnknown(name); {
	case b.slurm.OwnedByOthers[name] != "", b.rules.ReservedFor(b.desired, name) != "":
		b.namesOfOthers++
		return false
	case unknown:
		b.namesOfOthers++
		b.actions.OwnerUnknown = append(b.actions.OwnerUnknown, name)
		return false
	}
	if _, taken := slices.BinarySearch(b.actions.Taken, name); taken || b.awaitsJobs(name) {
		b.wantedNames[name] = true
		return false
	}
	if b.awaitsNewShape(name) {
		b.wantedNames[name] = true
		return false
	}
	return !b.awaitsReading(name)
}

// creationPrecondition returns what a read of the Slurm node must show right before a worker with its name is created. A
// FUTURE record gets no job before a slurmd registers. Only this reading may lack a missing record.
func (b *planRun) creationPrecondition(name string) Precondition {
	if b.slurm.Records[name].Future || name == "" {
		return NoPrecondition
	}
	return PreconditionJoinable
}

// reservedFor returns the owner of a name that no worker gets, or an empty string. A worker that already has the name
// stays.
func reservedFor(d *Desired, name string) string { return d.ReservedNames[name] }

// findReservedNames determines the names that workers would have, and that are not theirs.
func (b *planRun) findReservedNames() {
	var names []string
	switch {
	case b.desired.Deleting, b.desired.Frozen, len(b.desired.ReservedNames) == 0:
	case b.desired.PerKubeNode:
		for _, n := range b.desired.KubeNodes {
			names = append(names, b.desired.SlurmNameOn(n))
		}
	default:
		for i := range b.desired.OrdinalsEnd(0, 0) {
			names = append(names, b.desired.SlurmName(i))
		}
	}
	for _, name := range names {
		if !b.usedSlurmNames[name] && b.rules.ReservedFor(b.desired, name) != "" {
			b.actions.Reserved = append(b.actions.Reserved, name)
		}
	}
}
