package slurmclient

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Change is one object that differs between two snapshots. Old is nil for an object that was added,
// New is nil for one that was removed. Both are set and differ for an object that changed; they are
// never the same pointer.
type Change[T any] struct{ Old, New *T }

// JobChanges compares the jobs of two snapshots and returns the changes in order of job id. A nil
// snapshot, and one whose jobs were never read, has no jobs.
func JobChanges(old, now *Snapshot) []Change[slurm.Job] {
	return diffSorted(jobsOf(old), jobsOf(now), func(j *slurm.Job) uint32 { return j.ID })
}

// NodeChanges compares the nodes of two snapshots and returns the changes in order of name. A nil
// snapshot, and one whose nodes were never read, has no nodes.
func NodeChanges(old, now *Snapshot) []Change[slurm.Node] {
	return diffSorted(nodesOf(old), nodesOf(now), func(n *slurm.Node) string { return n.Name })
}

func jobsOf(s *Snapshot) []*slurm.Job {
	if s == nil {
		return nil
	}
	return s.Jobs.Value
}

func nodesOf(s *Snapshot) []*slurm.Node {
	if s == nil {
		return nil
	}
	return s.Nodes.Value
}

// diffSorted compares two lists that are sorted by key. Unchanged objects are the same pointer in
// both, since the cache keeps the old object when nothing in it changed.
func diffSorted[T any, K cmp.Ordered](old, now []*T, key func(*T) K) []Change[T] {
	var out []Change[T]
	i, j := 0, 0
	for i < len(old) && j < len(now) {
		switch c := cmp.Compare(key(old[i]), key(now[j])); {
		case c < 0:
			out = append(out, Change[T]{Old: old[i]})
			i++
		case c > 0:
			out = append(out, Change[T]{New: now[j]})
			j++
		default:
			if old[i] != now[j] {
				out = append(out, Change[T]{Old: old[i], New: now[j]})
			}
			i++
			j++
		}
	}
	for ; i < len(old); i++ {
		out = append(out, Change[T]{Old: old[i]})
	}
	for ; j < len(now); j++ {
		out = append(out, Change[T]{New: now[j]})
	}
	return out
}

func findJob(jobs []*slurm.Job, id uint32) *slurm.Job {
	i, ok := slices.BinarySearchFunc(jobs, id, func(j *slurm.Job, id uint32) int { return cmp.Compare(j.ID, id) })
	if !ok {
		return nil
	}
	return jobs[i]
}

func findNode(nodes []*slurm.Node, name string) *slurm.Node {
	i, ok := slices.BinarySearchFunc(nodes, name, func(n *slurm.Node, name string) int {
		return cmp.Compare(n.Name, name)
	})
	if !ok {
		return nil
	}
	return nodes[i]
}
