package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// filterReading returns the part of a reading that the NodeSet may trust. If the workers joined another Slurm cluster, it is empty
// except for ClusterMismatch. Three kinds of records move to OwnedByOthers: nodes of slurm.conf, comments that name another NodeSet,
// and foreign comments without a worker that has run.
func filterReading(desired *Desired, workers []Worker, s SlurmReading) SlurmReading {
	if clash := clusterMismatch(desired, workers, &s); clash != "" {
		return SlurmReading{Connected: true, ClusterMismatch: clash, Problem: clash}
	}
	taken, records, commented, owned := map[string]string{}, map[string]Record{}, map[string]Record{}, map[string]Record{}
	maps.Copy(taken, s.OwnedByOthers)
	maps.Copy(commented, s.Commented)
	maps.Copy(owned, s.Owned)
	ours := map[string]bool{}
	for i := range workers {
		if w := &workers[i]; !w.hasNeverRun() {
			ours[w.SlurmName] = true
		}
	}
	for name, r := range s.Records {
		switch owner := r.otherOwner(desired.UID); {
		case owner != "":
			taken[name], owned[name] = owner, r
		case r.ForeignComment && !ours[name]:
			taken[name], commented[name] = OwnerOfComment, r
		default:
			records[name] = r
		}
	}
	if len(taken) > 0 {
		s.OwnedByOthers, s.Records, s.Commented, s.Owned = taken, records, commented, owned
	}
	return s
}

const (
	// OwnerSlurmConf owns the Slurm nodes that slurm.conf lists.
	OwnerSlurmConf = "slurm.conf"
	// OwnerOfComment owns records whose comment is not from a NodeSet.
	OwnerOfComment = "somebody else, as their comment says"
)

// otherOwner returns the owner of the node, if it is not the NodeSet with the UID; otherwise an empty string. Workers are dynamic
// nodes, so any other node comes from slurm.conf, whatever its comment.
func (r Record) otherOwner(uid string) string {
	switch {
	case !r.Dynamic:
		return OwnerSlurmConf
	case r.OwnerUID != "" && r.OwnerUID != uid:
		return cmp.Or(r.OwnerName, "NodeSet "+r.OwnerUID)
	}
	return ""
}

// clusterMismatch explains why the Slurm cluster that was read is not the NodeSet's, or returns
// empty if it is.
func clusterMismatch(desired *Desired, workers []Worker, s *SlurmReading) string {
	if s.ClusterMismatch != "" {
		return s.ClusterMismatch
	}
	for _, w := range sortedByName(workers) {
		if w.ClusterRef != "" && desired.ClusterRef != "" && w.ClusterRef != desired.ClusterRef {
			return fmt.Sprintf("worker %s joined %s, but the NodeSet names %s", w.Pod, w.ClusterRef, desired.ClusterRef)
		}
	}
	if desired.ClusterName != "" && s.ClusterName != "" && desired.ClusterName != s.ClusterName {
		return fmt.Sprintf("the workers joined the Slurm cluster %s, but the Slurm cluster %s answers",
			desired.ClusterName, s.ClusterName)
	}
	return ""
}

// SlurmClusterChange is a change to the NodeSet's record of the Slurm cluster that its workers joined. The zero value changes nothing.
type SlurmClusterChange struct {
	// Write records Name, Slurm's own name of the cluster; an empty one removes the record.
	Write bool
	Name  string
}

// planSlurmCluster records the Slurm cluster where a worker is first seen registered. The record stays until no worker is left.
func planSlurmCluster(desired *Desired, observed *Observation) SlurmClusterChange {
	s := &observed.Slurm
	isRegistered := func(w Worker) bool {
		r, known := s.Records[w.SlurmName]
		return known && !r.Future && (w.Ready || r.showsSlurmdOf(&w))
	}
	switch {
	case desired.Deleting:
	case len(observed.Workers) == 0:
		return SlurmClusterChange{Write: desired.RecordedCluster != ""}
	case desired.RecordedCluster != "" || !s.Fresh || s.ClusterName == "":
	case slices.ContainsFunc(observed.Workers, isRegistered):
		return SlurmClusterChange{Write: true, Name: s.ClusterName}
	}
	return SlurmClusterChange{}
}

// mayBelongToOther reports whether the Slurm node of a name belongs, or may belong, to another
// NodeSet.
func (b *planRun) mayBelongToOther(name string) bool {
	return b.slurm.OwnedByOthers[name] != "" || b.isOwnerUnknown(name)
}

// isOwnerUnknown reports whether a Slurm node responds and has no owner. A dynamic node that responds has a slurmd, and its NodeSet
// records itself as the owner only after the registration. Once a node without an owner is down or FUTURE, it is free, unless it has a
// foreign comment.
func (b *planRun) isOwnerUnknown(name string) bool {
	r, there := b.slurm.Records[name]
	if !there || r.OwnerUID != "" {
		return false
	}
	return r.ForeignComment || !r.Future && !r.Down && !r.OurReason
}

// isDisplaced reports whether, before slurmd has run in the pod, another pod has the worker's name or a fresh reading shows that others
// own its Slurm node. Its slurmd would take over the node, and slurmctld would end the jobs there. The kubelet may report a slurmd
// late, so a scheduled worker needs a fresh reading, unless the other pod may have jobs that its slurmd would end.
func (b *planRun) isDisplaced(w *Worker) bool {
	isOthers := b.slurm.Fresh && b.rules.OwnedByOther(b.slurm, w.SlurmName) != ""
	hasNamesake := w.Namesake != "" && (b.slurm.Fresh || w.KubeNode == "" || w.NamesakeHasRun)
	return w.hasNeverRun() && !b.desired.Deleting && (hasNamesake || isOthers) && !b.slurm.mayServe(w)
}

// isExposed reports whether a worker must be created again before it is scheduled. Nothing of it runs.
func (b *planRun) isExposed(w *Worker) bool {
	return w.ExposedTo != "" && w.KubeNode == "" && !b.desired.Deleting && !b.desired.Frozen
}

// mayServe reports whether slurmd may run in a scheduled pod before its kubelet reports it: the worker's Slurm node, or the node of
// others, is in service. A slurmd that started before the pod was scheduled runs elsewhere, and so does a slurmd whose pod is in the
// owner's comment. An owner's node must show a later slurmd.
func (s *SlurmReading) mayServe(w *Worker) bool {
	if w.KubeNode == "" {
		return false
	}
	if own, there := s.Records[w.SlurmName]; there && own.mayBeServedBy(w.Pod, w.scheduledAt()) {
		return true
	}
	r, commented := s.Commented[w.SlurmName]
	if !commented {
		r = s.Owned[w.SlurmName]
	}
	if r.Future || r.Down || r.Pod != "" {
		return false
	}
	if r.SlurmdStarted.IsZero() {
		return commented
	}
	return !r.SlurmdStarted.Before(w.scheduledAt().Add(-maxClockSkew))
}

// scheduledAt returns when the worker was scheduled, or created if that is not known. No slurmd of it is older.
func (w *Worker) scheduledAt() time.Time { return later(w.Created, w.Scheduled) }

// mayBeServedBy reports whether the slurmd of a record of the NodeSet may run in a pod: the node is in service, names no other pod, and
// shows no slurmd that started before the pod was scheduled.
func (r *Record) mayBeServedBy(pod string, scheduled time.Time) bool {
	return !r.Future && !r.Down && (r.Pod == "" || r.Pod == pod) &&
		(r.SlurmdStarted.IsZero() || !r.SlurmdStarted.Before(scheduled.Add(-maxClockSkew)))
}

// maxClockSkew is the largest difference between the clocks of Kubernetes' control plane and of a slurmd: MUNGE and auth/slurm refuse
// older messages.
const maxClockSkew = 5 * time.Minute

// hasNeverRun reports whether no slurmd has run in the worker's pod.
func (w *Worker) hasNeverRun() bool {
	return w.KubeNode == "" || w.NeverStarted && w.Registered.IsZero()
}

// isOwnedByOther reports whether the worker's slurmd runs and another NodeSet owns its Slurm node. Such a worker is left alone, except
// that deletion of the NodeSet applies the drain policy.
func (b *planRun) isOwnedByOther(w *Worker) bool {
	_, taken := b.slurm.OwnedByOthers[w.SlurmName]
	return taken && !b.desired.Deleting && w.KubeNode != ""
}
