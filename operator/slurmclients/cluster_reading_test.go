package slurmclients

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// newNodePoll returns a poll of nodes that began at the given second and took one.
func newNodePoll(sequence uint64, begin int, drained ...string) *slurmclient.Snapshot {
	s := &slurmclient.Snapshot{}
	s.Nodes.Poll = slurmclient.Poll{Known: true, Sequence: sequence,
		ReadAt: epoch.Add(time.Duration(begin) * time.Second), Took: time.Second}
	for _, name := range []string{"a", "b"} {
		n := &slurm.Node{Name: name, State: slurm.ParseNodeState("IDLE")}
		for _, d := range drained {
			if d == name {
				n.State = slurm.ParseNodeState("IDLE", "DRAIN")
			}
		}
		s.Nodes.Value = append(s.Nodes.Value, n)
	}
	return s
}

func withFailure(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Err = errors.New("no answer")
	return s
}

// answeredBy makes the Slurm cluster with the name answer the poll.
func answeredBy(name string, s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Cluster = name
	return s
}

func TestSinceWhenADrainIsKnown(t *testing.T) {
	type since map[string]int // seconds after zero
	for _, tc := range []struct {
		name  string
		polls []*slurmclient.Snapshot
		want  since
	}{
		{"nothing was read", []*slurmclient.Snapshot{{}}, since{}},
		{"the end of the first poll that shows it", []*slurmclient.Snapshot{newNodePoll(1, 0), newNodePoll(2, 10, "a")},
			since{"a": 11}},
		{"it stays while polls show it", []*slurmclient.Snapshot{newNodePoll(1, 0, "a"), newNodePoll(2, 10, "a", "b"),
			newNodePoll(3, 20, "a", "b")}, since{"a": 1, "b": 11}},
		{"also when nothing has changed", []*slurmclient.Snapshot{newNodePoll(1, 0, "a"), newNodePoll(1, 10, "a"),
			newNodePoll(1, 20, "a")}, since{"a": 1}},
		{"one that is undrained is forgotten", []*slurmclient.Snapshot{newNodePoll(1, 0, "a"), newNodePoll(2, 10),
			newNodePoll(3, 20, "a")}, since{"a": 21}},
		{"another snapshot of the same poll", []*slurmclient.Snapshot{newNodePoll(1, 0, "a"), newNodePoll(1, 0, "a")},
			since{"a": 1}},
		{"a poll that was missed breaks the run",
			[]*slurmclient.Snapshot{newNodePoll(1, 0, "a"), newNodePoll(3, 20, "a")}, since{"a": 21}},
		{"so does one that failed", []*slurmclient.Snapshot{newNodePoll(1, 0, "a"), withFailure(newNodePoll(1, 0, "a")),
			newNodePoll(1, 20, "a")}, since{"a": 21}},
		{"while polls fail nothing is known",
			[]*slurmclient.Snapshot{newNodePoll(1, 0, "a"), withFailure(newNodePoll(1, 0, "a"))}, since{}},
		{"nor before the next that succeeds",
			[]*slurmclient.Snapshot{newNodePoll(1, 0, "a"), withFailure(newNodePoll(1, 0, "a")),
				withFailure(newNodePoll(1, 0, "a"))}, since{}},
		{"nor one that another cluster answers",
			[]*slurmclient.Snapshot{newNodePoll(1, 0, "a"), answeredBy("b", newNodePoll(2, 10, "a")),
				newNodePoll(3, 20, "a")}, since{"a": 21}},
		{"also with the same records",
			[]*slurmclient.Snapshot{newNodePoll(1, 0, "a"), answeredBy("b", newNodePoll(1, 10, "a")),
				newNodePoll(1, 20, "a")}, since{"a": 21}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r readingBuilder
			var last *Reading
			for _, s := range tc.polls {
				last = r.next(s)
			}
			got := since{}
			for name, at := range last.DrainedSince {
				got[name] = int(at.Sub(epoch) / time.Second)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func jobOnNodes(id uint32, nodes string) *slurm.Job {
	return &slurm.Job{ID: id, State: slurm.ParseJobState("RUNNING"), Nodes: nodes}
}

func TestAReadingIsCompleteWhenNodesAndJobsWereRead(t *testing.T) {
	var r readingBuilder
	s := newNodePoll(1, 0)
	got := r.next(s)
	if got.Complete() || len(got.Nodes) != 2 {
		t.Errorf("without jobs it is %v, with %d nodes", got.Complete(), len(got.Nodes))
	}
	next := *s
	next.Jobs.Poll = slurmclient.Poll{Known: true, Sequence: 1}
	next.Jobs.Value = []*slurm.Job{jobOnNodes(1, "a")}
	got = r.next(&next)
	if !got.Complete() || got.Work["a"].Jobs != 1 {
		t.Errorf("with jobs it is %v: %v", got.Complete(), got.Work)
	}
	lost := next
	lost.Jobs.Sequence, lost.Jobs.Value = 2, []*slurm.Job{jobOnNodes(1, "a["), jobOnNodes(2, "b")}
	got = r.next(&lost)
	if got.Complete() || got.Work != nil || got.Problem == "" {
		t.Errorf("with a job that cannot be placed it is %v: %v, %q", got.Complete(), got.Work, got.Problem)
	}
	wild := lost
	wild.Jobs.Sequence, wild.Jobs.Value = 3, []*slurm.Job{nil}
	if got := (&readingBuilder{last: got}).next(&wild); got.Complete() || got.Work != nil ||
		!strings.Contains(got.Problem, "panic") {
		t.Errorf("with a job that makes it panic it is %v: %v, %q", got.Complete(), got.Work, got.Problem)
	}
	again := lost
	again.Nodes.ReadAt = epoch.Add(time.Minute)
	if got = r.next(&again); got.Complete() || got.Problem == "" {
		t.Error("another poll of nodes makes it complete")
	}
}
