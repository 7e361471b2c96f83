package records

import (
	"cmp"
	"iter"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func jobKey(j *slurm.Job) uint32 { return j.ID }

func nodeKey(n *slurm.Node) string { return n.Name }

// FindJob returns the job with the id, or nil. The jobs are sorted by id.
func FindJob(jobs []*slurm.Job, id uint32) *slurm.Job { return find(jobs, id, jobKey) }

// FindNode returns the node with the name, or nil. The nodes are sorted by name.
func FindNode(nodes []*slurm.Node, name string) *slurm.Node { return find(nodes, name, nodeKey) }

func find[T any, K cmp.Ordered](list []*T, key K, keyOf func(*T) K) *T {
	i, ok := slices.BinarySearchFunc(list, key, func(t *T, key K) int { return cmp.Compare(keyOf(t), key) })
	if !ok {
		return nil
	}
	return list[i]
}

// JobChanges yields the old and the new object of every job that differs between two lists, in order
// of id. The old object is nil for a job that was added, the new one for a job that was removed.
func JobChanges(old, now []*slurm.Job) iter.Seq2[*slurm.Job, *slurm.Job] {
	return changes(old, now, jobKey)
}

// NodeChanges is JobChanges for nodes, in order of name.
func NodeChanges(old, now []*slurm.Node) iter.Seq2[*slurm.Node, *slurm.Node] {
	return changes(old, now, nodeKey)
}

func changes[T any, K cmp.Ordered](old, now []*T, keyOf func(*T) K) iter.Seq2[*T, *T] {
	return func(yield func(was, is *T) bool) {
		old, now := old, now
		for len(old) > 0 || len(now) > 0 {
			var was, is *T
			order := 0
			switch {
			case len(old) == 0:
				order = 1
			case len(now) == 0:
				order = -1
			default:
				order = cmp.Compare(keyOf(old[0]), keyOf(now[0]))
			}
			if order <= 0 {
				was, old = old[0], old[1:]
			}
			if order >= 0 {
				is, now = now[0], now[1:]
			}
			if was != is && !yield(was, is) {
				return
			}
		}
	}
}

// Copy returns a copy of a record that is only valid during a call.
func Copy[T any](t *T) *T {
	c := *t
	return &c
}
