package slurmclients

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Reading is the last reading of one Slurm cluster. It is immutable.
type Reading struct {
	// Snapshot is never nil. It has the read times of nodes and jobs.
	Snapshot *slurmclient.Snapshot
	// Nodes are all node records by name, including those in state FUTURE. NodesIn counts them by partition and features.
	Nodes   map[string]*slurm.Node
	NodesIn references.Nodes
	// Work is the work on each Slurm node, by name, according to the job list: unfinished jobs
	// that occupy nodes, and finished jobs that are still completing. It is nil while Problem is
	// set.
	Work map[string]occupancy.Work
	// DrainedSince maps Slurm nodes to the time since when DRAIN is known to be in effect. It is the end of the first
	// poll that showed DRAIN, in an unbroken run of polls of this connection.
	DrainedSince map[string]time.Time
	// References maps Slurm nodes to one object that refers to them, such as "job 5": an unfinished job, a reservation or
	// a partition.
	References        map[string]string
	ReferencesProblem string
	// Pending are the requests of the pending jobs in each partition. It is nil while ReferencesProblem is set.
	Pending references.Pending
	// Problem is the reason why Work is unknown although jobs were read, or empty.
	Problem string
}

// Complete reports whether nodes and jobs were read since the process started, and all work is
// known. It does not check their age.
func (r *Reading) Complete() bool {
	return r.hasNodesAndJobs() && r.Problem == ""
}

// hasNodesAndJobs reports whether nodes and jobs were read.
func (r *Reading) hasNodesAndJobs() bool { return r.Snapshot.Nodes.Known && r.Snapshot.Jobs.Known }

// readingBuilder builds readings from the snapshots of one cache, in their order.
type readingBuilder struct{ last *Reading }

// next returns the reading of a snapshot. It reuses the unchanged parts of the last one.
func (r *readingBuilder) next(s *slurmclient.Snapshot) *Reading {
	if r.last == nil {
		r.last = &Reading{Snapshot: &slurmclient.Snapshot{}}
	}
	before := r.last.Snapshot
	next := &Reading{
		Snapshot: s, Nodes: r.last.Nodes, NodesIn: r.last.NodesIn, Work: r.last.Work, Problem: r.last.Problem,
		DrainedSince: drainedSince(r.last.DrainedSince, before.Nodes, s.Nodes),
		References:   r.last.References, ReferencesProblem: r.last.ReferencesProblem,
		Pending: r.last.Pending,
	}
	if s.Nodes.Sequence != before.Nodes.Sequence {
		next.Nodes, next.NodesIn = make(map[string]*slurm.Node, len(s.Nodes.Value)), references.Nodes{}
		for _, n := range s.Nodes.Value {
			next.Nodes[n.Name] = n
			next.NodesIn.Add(n.Partitions, n.Features)
		}
	}
	if s.Jobs.Sequence != before.Jobs.Sequence {
		next.Work, next.Problem = workOf(s.Jobs.Value)
	}
	if r.last.References == nil || s.Jobs.Sequence != before.Jobs.Sequence ||
		s.Reservations.Sequence != before.Reservations.Sequence || s.Partitions.Sequence != before.Partitions.Sequence {
		next.References, next.Pending, next.ReferencesProblem = referencesOf(s)
	}
	r.last = next
	return next
}

// workOf returns the work on Slurm nodes, or why it is unknown.
func workOf(jobs []*slurm.Job) (work map[string]occupancy.Work, problem string) {
	var err error
	if panicked := slurmclient.Guard("finding the nodes of jobs",
		func() { work, err = occupancy.ByNode(jobs) }); panicked != nil {
		err = panicked
	}
	if err != nil {
		return nil, err.Error()
	}
	return work, ""
}

// referencesOf returns the objects that name Slurm nodes and the requests of pending jobs, or the reason why they are
// unknown.
func referencesOf(s *slurmclient.Snapshot) (named map[string]string, pending references.Pending, problem string) {
	for _, p := range []slurmclient.Poll{s.Jobs.Poll, s.Reservations.Poll, s.Partitions.Poll} {
		if !p.Known {
			return nil, nil, fmt.Sprintf("%s have not been read yet", p.Resource)
		}
	}
	var err error
	if panicked := slurmclient.Guard("finding the nodes that jobs name", func() {
		if named, err = references.ByNode(s.Jobs.Value, s.Reservations.Value, s.Partitions.Value); err == nil {
			pending = references.PendingByPartition(s.Jobs.Value)
		}
	}); panicked != nil {
		err = panicked
	}
	if err != nil {
		return nil, nil, err.Error()
	}
	return named, pending, ""
}

// drainedSince continues the run of node polls. A poll that failed, was missed or was answered by
// another Slurm cluster breaks the run, because the flag may have been cleared in between.
func drainedSince(since map[string]time.Time, before, now slurmclient.Reading[[]*slurm.Node]) map[string]time.Time {
	switch {
	case !now.Known, now.Err != nil:
		return nil
	case before.Known && now.ReadAt.Equal(before.ReadAt) && before.Err == nil:
		return since // no poll in between
	case before.Err != nil, now.Sequence > before.Sequence+1, now.Cluster != before.Cluster:
		since = nil
	case now.Sequence == before.Sequence && since != nil:
		return since // the same records again
	}
	end := now.ReadAt.Add(now.Took)
	next := map[string]time.Time{}
	for _, n := range now.Value {
		if !n.State.Has(slurm.NodeDrain) {
			continue
		}
		next[n.Name] = end
		if t, ok := since[n.Name]; ok {
			next[n.Name] = t
		}
	}
	return next
}

// hasChangesSince reports whether the reading differs from an older one in the input of decisions: a later poll of nodes
// or jobs, other partitions or reservations, or polls that start or stop failing.
func (r *Reading) hasChangesSince(old *Reading) bool {
	if old == nil {
		return true
	}
	s, before := r.Snapshot, old.Snapshot
	failing := func(s *slurmclient.Snapshot) [3]bool {
		return [3]bool{s.Nodes.Err != nil, s.Jobs.Err != nil, s.Pings.Err != nil}
	}
	return !s.Nodes.ReadAt.Equal(before.Nodes.ReadAt) || !s.Jobs.ReadAt.Equal(before.Jobs.ReadAt) ||
		s.Partitions.Sequence != before.Partitions.Sequence ||
		s.Reservations.Sequence != before.Reservations.Sequence ||
		failing(s) != failing(before)
}
