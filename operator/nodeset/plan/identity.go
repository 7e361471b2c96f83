package plan

import "fmt"

// filterReading returns the part of a reading that the NodeSet may trust. It is empty except for
// ClusterMismatch if the workers joined another Slurm cluster. Records whose comment names another
// NodeSet move to OwnedByOthers.
func identify(desired *Wish, workers []Worker, s Slurm) Slurm {
	if clash := clashOf(desired, workers, &s); clash != "" {
		return Slurm{Connected: true, Clash: clash, Problem: clash}
	}
	taken, records := map[string]string{}, map[string]Record{}
	for name, owner := range s.Taken {
		taken[name] = owner
	}
	for name, r := range s.Records {
		if r.Owner != "" && r.Owner != desired.UID {
			taken[name] = r.OwnerName
			continue
		}
		records[name] = r
	}
	if len(taken) > 0 {
		s.Taken, s.Records = taken, records
	}
	return s
}

// clusterMismatch explains why the Slurm cluster that was read is not the NodeSet's, or returns
// empty if it is.
func clashOf(desired *Wish, workers []Worker, s *Slurm) string {
	if s.Clash != "" {
		return s.Clash
	}
	for _, w := range sortedByName(workers) {
		if w.Joined != "" && desired.Joins != "" && w.Joined != desired.Joins {
			return fmt.Sprintf("worker %s joined %s, but the NodeSet names %s", w.Pod, w.Joined, desired.Joins)
		}
	}
	if desired.Cluster != "" && s.Cluster != "" && desired.Cluster != s.Cluster {
		return fmt.Sprintf("the workers joined the Slurm cluster %s, but the Slurm cluster %s answers", desired.Cluster, s.Cluster)
	}
	return ""
}

// mayBelongToOther reports whether the Slurm node of a name belongs, or may belong, to another
// NodeSet.
func (b *pass) mayBeAnothers(name string) bool {
	return b.slurm.Taken[name] != "" || b.isUnclaimed(name)
}

// isOwnerUnknown reports whether a Slurm node responds and has no owner. A dynamic node that
// responds has a slurmd, and its NodeSet records itself as the owner only after the registration. A
// node without an owner belongs to nobody once it is down.
func (b *pass) isUnclaimed(name string) bool {
	r, there := b.slurm.Records[name]
	return there && r.Dynamic && !r.Future && !r.Down && !r.Ours && r.Owner == ""
}

// isOwnedByOther reports whether the worker's slurmd runs and its Slurm node belongs to another
// NodeSet. Such a worker is left alone, except that deletion of the NodeSet applies the drain
// policy.
func (b *pass) isTaken(w *Worker) bool {
	_, taken := b.slurm.Taken[w.SlurmName]
	return taken && !b.desired.Deleting && w.KubeNode != ""
}
