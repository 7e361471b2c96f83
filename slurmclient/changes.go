package slurmclient

import (
	"iter"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Change is one object that differs between two snapshots. Old is nil for an object that was added,
// New is nil for one that was removed. Both are set and differ for an object that changed; they are
// never the same pointer.
type Change[T any] struct{ Old, New *T }

// JobChanges compares the jobs of two snapshots and returns the changes in order of job id. A nil
// snapshot, and one whose jobs were never read, has no jobs.
func JobChanges(old, now *Snapshot) []Change[slurm.Job] {
	return collectChanges(records.JobChanges(jobsOf(old), jobsOf(now)))
}

// NodeChanges compares the nodes of two snapshots and returns the changes in order of name. A nil
// snapshot, and one whose nodes were never read, has no nodes.
func NodeChanges(old, now *Snapshot) []Change[slurm.Node] {
	return collectChanges(records.NodeChanges(nodesOf(old), nodesOf(now)))
}

func collectChanges[T any](changes iter.Seq2[*T, *T]) (out []Change[T]) {
	for old, now := range changes {
		out = append(out, Change[T]{Old: old, New: now})
	}
	return out
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
