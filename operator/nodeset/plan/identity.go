package plan

import "fmt"

// identify is what the NodeSet may believe of what was read. Nothing is believed when
// Slurm is another cluster than the one that the workers joined: Clash says so. Records
// whose comment names another NodeSet become Taken, and nothing else is known of them.
func identify(wish *Wish, workers []Worker, s Slurm) Slurm {
	if clash := clashOf(wish, workers, &s); clash != "" {
		return Slurm{Connected: true, Clash: clash, Problem: clash}
	}
	taken, records := map[string]string{}, map[string]Record{}
	for name, owner := range s.Taken {
		taken[name] = owner
	}
	for name, r := range s.Records {
		if r.Owner != "" && r.Owner != wish.UID {
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

// clashOf says why the Slurm that was read is not the NodeSet's, empty when it is.
func clashOf(wish *Wish, workers []Worker, s *Slurm) string {
	if s.Clash != "" {
		return s.Clash
	}
	for _, w := range sortedByName(workers) {
		if w.Joined != "" && wish.Joins != "" && w.Joined != wish.Joins {
			return fmt.Sprintf("worker %s joined %s, and the NodeSet names %s", w.Pod, w.Joined, wish.Joins)
		}
	}
	if wish.Cluster != "" && s.Cluster != "" && wish.Cluster != s.Cluster {
		return fmt.Sprintf("the workers joined the Slurm cluster %s, and the Slurm cluster %s answers", wish.Cluster, s.Cluster)
	}
	return ""
}

// mayBeAnothers reports whether the Slurm node of a name belongs to another NodeSet, or may.
func (b *pass) mayBeAnothers(name string) bool {
	return b.slurm.Taken[name] != "" || b.isUnclaimed(name)
}

// isUnclaimed reports whether a Slurm node answers and does not say whose it is: a dynamic node
// that responds has a slurmd, and whose it is its NodeSet writes only after that has registered.
// One that stays without an owner is nobody's once it is down.
func (b *pass) isUnclaimed(name string) bool {
	r, there := b.slurm.Records[name]
	return there && r.Dynamic && !r.Future && !r.Down && !r.Ours && r.Owner == ""
}

// isTaken reports that the worker's slurmd runs, and that its Slurm node belongs to
// another NodeSet: nothing is done to it, but for what the drain policy says when the
// NodeSet is deleted.
func (b *pass) isTaken(w *Worker) bool {
	_, taken := b.slurm.Taken[w.SlurmName]
	return taken && !b.wish.Deleting && w.KubeNode != ""
}
