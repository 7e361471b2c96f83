package plan

import (
	"strings"
	"testing"
	"time"
)

// withoutSlurmCluster removes the Slurm cluster, as in a process that never saw it.
func withoutSlurmCluster(s *planInput) {
	s.observed.Slurm = SlurmReading{Problem: "its Controller or Cluster does not exist"}
}

func TestDeletionWithoutASlurmCluster(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   []string
		waits  bool
	}{
		{"a worker that runs stays, since it may have a job", nil, nil, true},
		{"with Force it goes", []func(*planInput){func(s *planInput) { s.desired.DrainPolicy.Force = true }},
			[]string{"delete n-0"}, false},
		{"with Timeout it goes when that is over",
			[]func(*planInput){func(s *planInput) { s.desired.DrainPolicy.Timeout = time.Minute }},
			[]string{"delete n-0"}, false},
		{"one that was never scheduled goes",
			[]func(*planInput){withWorker(0, func(w *Worker) { w.KubeNode, w.Running, w.Ready = "", false, false })},
			[]string{"delete n-0"}, false},
		{"one whose containers have ended goes",
			[]func(*planInput){withWorker(0, func(w *Worker) { w.Finished, w.Running, w.Ready = true, false, false })},
			[]string{"delete n-0"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newInput(1, 1, append([]func(*planInput){withoutSlurmCluster, withDeletion,
				withCause(0, causeDeletion)}, tc.change...)...)
			actions := expectSteps(t, s, tc.want...)
			if tc.waits != (len(actions.Waits) == 1) {
				t.Fatalf("it waits for %+v", actions.Waits)
			}
			if tc.waits && (!strings.Contains(actions.Waits[0].Message,
				"create it again, or set spec.drainPolicy.type to Force") ||
				actions.Waits[0].BlockReason != BlockedByStaleReading) {
				t.Errorf("it tells %+v", actions.Waits[0])
			}
		})
	}
	expectSteps(t, newInput(1, 1, withoutSlurmCluster,
		withWorker(0, func(w *Worker) { w.Finished = true }))) // it is not deleted, so nothing is removed
}

func TestRecordsOfANodeSetThatIsDeleted(t *testing.T) {
	left := withRecord(0, func(r *Record) { r.Dynamic, r.OwnerUID, r.OurReason, r.Down = true, "set", true, true })
	forced := func(since time.Duration) func(*planInput) {
		return func(s *planInput) { s.desired.DrainPolicy.Force, s.desired.DeletingSince = true, noon.Add(-since) }
	}
	readAt := func(after time.Duration) func(*planInput) {
		return func(s *planInput) {
			s.desired.DeletingSince = noon.Add(-10 * time.Second)
			s.observed.Slurm.NodesReadAt = s.desired.DeletingSince.Add(after)
		}
	}
	for _, tc := range []struct {
		name     string
		change   []func(*planInput)
		finished bool
	}{
		{"they are waited for", []func(*planInput){left}, false},
		{"with Force too", []func(*planInput){left, forced(time.Minute)}, false},
		{"but not for long", []func(*planInput){left, forced(10 * time.Minute)}, true},
		{"none are left", []func(*planInput){forced(time.Minute)}, true},
		{"while Slurm cannot be read nobody knows", []func(*planInput){left, withStaleReading}, false},
		{"which Force waits for", []func(*planInput){left, withStaleReading, forced(time.Minute)}, false},
		{"but not for long", []func(*planInput){left, withStaleReading, forced(10 * time.Minute)}, true},
		{"nor at all where Slurm was never read",
			[]func(*planInput){forced(time.Minute),
				func(s *planInput) { s.observed.Slurm = SlurmReading{Connected: true} }}, true},
		{"a reading of before the deletion lacks what was made since", []func(*planInput){readAt(-time.Second)}, false},
		{"or around it", []func(*planInput){readAt(2 * time.Second)}, false},
		{"a later one does not", []func(*planInput){readAt(4 * time.Second)}, true},
		{"without a Slurm cluster there are none", []func(*planInput){withoutSlurmCluster}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := newInput(0, 0, append([]func(*planInput){withDeletion}, tc.change...)...).runPlanner()
			if actions.DeletionDone != tc.finished {
				t.Errorf("it is finished: %v; the steps are %q", actions.DeletionDone, formatSteps(actions))
			}
		})
	}
}

func TestReasonsOfOursThatAreLeftOver(t *testing.T) {
	ours := func(change func(*Record)) func(*planInput) {
		return withRecord(0, func(r *Record) { r.OurReason = true; change(r) })
	}
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   []string
	}{
		{"of a node in service it is taken away", []func(*planInput){ours(func(*Record) {})},
			[]string{"clear-reason n-0"}},
		{"of a busy one too", []func(*planInput){ours(func(*Record) {}), withJob(0, 7, 0),
			withWorker(0, func(w *Worker) { w.DrainMark.Protect = true })}, []string{"clear-reason n-0"}},
		{"of one that does not answer yet it is, and there is nothing to be resumed",
			[]func(*planInput){ours(func(r *Record) { r.Down, r.NotResponding = true, true })},
			[]string{"clear-reason n-0"}},
		{"one that is down is resumed", []func(*planInput){ours(func(r *Record) { r.Down = true })},
			[]string{"resume n-0"}},
		{"one that is drained is undrained", []func(*planInput){ours(func(r *Record) { r.Drain = true })},
			[]string{"undrain n-0"}},
		{"on a stale reading nothing is done", []func(*planInput){ours(func(*Record) {}), withStaleReading}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expectSteps(t, newInput(1, 1, tc.change...), tc.want...) })
	}
}

func TestTheLastLookForAReasonThatIsLeftOver(t *testing.T) {
	for _, tc := range []struct {
		name   string
		record *Record
		want   bool
	}{
		{"in service", &Record{OurReason: true}, true},
		{"silent", &Record{OurReason: true, Down: true, NotResponding: true}, true},
		{"somebody has drained it", &Record{OurReason: true, Drain: true}, false},
		{"it is down", &Record{OurReason: true, Down: true}, false},
		{"the reason is another's", &Record{}, false},
		{"it is FUTURE", &Record{OurReason: true, Future: true}, false},
		{"it is not there", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := PreconditionLeftoverReason.IsMetBy(tc.record); got != tc.want {
				t.Errorf("it passes: %v", got)
			}
		})
	}
}

func TestScaleInWaitsUntilAllWorkIsListed(t *testing.T) {
	// On n-0 a job ends in an hour; on n-1 one began that the list does not have yet.
	unlisted := func(s *planInput) {
		withJob(0, 7, time.Hour)(s)
		withRecord(1, func(r *Record) { r.Busy = true })(s)
		for i := range s.observed.Workers {
			s.observed.Workers[i].DrainMark.Protect = true
		}
		s.observed.Workers[0].DrainMark.Deadline = noon.Add(time.Hour)
		s.observed.Slurm.NodesReadAt = noon.Add(time.Second)
	}
	listed := func(end time.Duration) func(*planInput) {
		return func(s *planInput) {
			withJob(1, 8, end)(s)
			s.observed.Workers[1].DrainMark.Deadline = noon.Add(end)
			s.observed.Slurm.JobsReadAt = noon.Add(2 * time.Second)
		}
	}
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   []string
	}{
		{"none is chosen before it is", nil, nil},
		{"one is chosen if the next list takes long", []func(*planInput){func(s *planInput) {
			s.observed.Slurm.JobsReadAt = noon.Add(-unlistedPatience)
		}}, []string{"annotate n-0 ScaleIn", "drain n-0"}},
		{"then the one whose job ends first", []func(*planInput){listed(time.Minute)},
			[]string{"annotate n-1 ScaleIn", "drain n-1"}},
		{"or the other", []func(*planInput){listed(2 * time.Hour)}, []string{"annotate n-0 ScaleIn", "drain n-0"}},
		{"a node that is busy without a job in a list made later ends last",
			[]func(*planInput){func(s *planInput) { s.observed.Slurm.JobsReadAt = noon.Add(2 * time.Second) }},
			[]string{"annotate n-0 ScaleIn", "drain n-0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := expectSteps(t, newInput(1, 2, append([]func(*planInput){unlisted}, tc.change...)...), tc.want...)
			if len(tc.want) == 0 && actions.RequeueAfter == 0 {
				t.Error("it does not look again")
			}
		})
	}
	// An idle one is removed at once.
	expectSteps(t, newInput(2, 3, unlisted), "annotate n-2 ScaleIn", "drain n-2")
}

func TestWhoIsTiedToTheNodeSet(t *testing.T) {
	bond := func(b MissingOwners) func(*planInput) { return withWorker(0, func(w *Worker) { w.MissingOwners = b }) }
	for _, tc := range []struct {
		name string
		set  *planInput
		want []string
	}{
		{"a worker that has its owners is left as it is", newInput(1, 1), nil},
		{"one of an earlier version is anchored", newInput(1, 1, bond(MissingOwners{Namespace: true})),
			[]string{"adopt n-0"}},
		{"an orphan is adopted", newInput(1, 1, bond(MissingOwners{NodeSet: true})), []string{"adopt n-0"}},
		{"also without a reading of Slurm", newInput(1, 1, bond(MissingOwners{NodeSet: true}), withStaleReading),
			[]string{"adopt n-0"}},
		{"a NodeSet that is being deleted takes none back",
			newInput(1, 1, bond(MissingOwners{NodeSet: true}), withDeletion, withJob(0, 7, 0), withOurDrain(0),
				withCause(0, causeDeletion), withProtection), nil},
		{"but anchors what it has", newInput(1, 1, bond(MissingOwners{Namespace: true}), withDeletion, withJob(0, 7, 0),
			withOurDrain(0), withCause(0, causeDeletion), withProtection), []string{"adopt n-0"}},
		{"a worker that is on its way out is left as it is",
			newInput(1, 1, bond(MissingOwners{Namespace: true}), withWorker(0, func(w *Worker) { w.DeletedAt = noon })),
			nil},
		{"a NodeSet that leaves its workers behind does nothing",
			newInput(1, 1, withDeletion, func(s *planInput) { s.desired.Orphaning = true }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expectSteps(t, tc.set, tc.want...) })
	}
	if !newInput(1, 1, withDeletion, func(s *planInput) { s.desired.Orphaning = true }).runPlanner().DeletionDone {
		t.Error("a NodeSet that leaves its workers behind stays")
	}
}

// withProtection has it noted that a worker is protected.
func withProtection(s *planInput) { withWorker(0, func(w *Worker) { w.DrainMark.Protect = true })(s) }
