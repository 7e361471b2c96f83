package plan

import (
	"strings"
	"testing"
	"time"
)

// gone takes the Slurm cluster away, as it is seen by a process that never saw it.
func gone(s *scene) {
	s.observed.Slurm = Slurm{Problem: "its Controller or Cluster does not exist"}
}

func TestDeletionWithoutASlurmCluster(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change []func(*scene)
		want   []string
		waits  bool
	}{
		{"a worker that runs stays, since it may have a job", nil, nil, true},
		{"with Force it goes", []func(*scene){func(s *scene) { s.desired.Policy.Force = true }}, []string{"delete n-0"}, false},
		{"with Timeout it goes when that is over", []func(*scene){func(s *scene) { s.desired.Policy.Timeout = time.Minute }}, []string{"delete n-0"}, false},
		{"one that was never scheduled goes", []func(*scene){worker(0, func(w *Worker) { w.KubeNode, w.Running, w.Ready = "", false, false })}, []string{"delete n-0"}, false},
		{"one whose containers have ended goes", []func(*scene){worker(0, func(w *Worker) { w.Finished, w.Running, w.Ready = true, false, false })}, []string{"delete n-0"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := set(1, 1, append([]func(*scene){gone, deleting, chosen(0, deletion)}, tc.change...)...)
			actions := expect(t, s, tc.want...)
			if tc.waits != (len(actions.Waits) == 1) {
				t.Fatalf("it waits for %+v", actions.Waits)
			}
			if tc.waits && (!strings.Contains(actions.Waits[0].Why, "create it again, or set spec.drainPolicy.type to Force") || actions.Waits[0].Block != Unread) {
				t.Errorf("it tells %+v", actions.Waits[0])
			}
		})
	}
	expect(t, set(1, 1, gone, worker(0, func(w *Worker) { w.Finished = true }))) // it is not deleted: nothing goes
}

func TestRecordsOfANodeSetThatIsDeleted(t *testing.T) {
	left := record(0, func(r *Record) { r.Dynamic, r.Owner, r.Ours, r.Down = true, "set", true, true })
	forced := func(since time.Duration) func(*scene) {
		return func(s *scene) { s.desired.Policy.Force, s.desired.DeletingSince = true, noon.Add(-since) }
	}
	readAt := func(after time.Duration) func(*scene) {
		return func(s *scene) {
			s.desired.DeletingSince = noon.Add(-10 * time.Second)
			s.observed.Slurm.NodesReadAt = s.desired.DeletingSince.Add(after)
		}
	}
	for _, tc := range []struct {
		name     string
		change   []func(*scene)
		finished bool
	}{
		{"they are waited for", []func(*scene){left}, false},
		{"with Force too", []func(*scene){left, forced(time.Minute)}, false},
		{"but not for long", []func(*scene){left, forced(10 * time.Minute)}, true},
		{"none are left", []func(*scene){forced(time.Minute)}, true},
		{"while Slurm cannot be read nobody knows", []func(*scene){left, stale}, false},
		{"which Force waits for", []func(*scene){left, stale, forced(time.Minute)}, false},
		{"but not for long", []func(*scene){left, stale, forced(10 * time.Minute)}, true},
		{"nor at all where Slurm was never read", []func(*scene){forced(time.Minute), func(s *scene) { s.observed.Slurm = Slurm{Connected: true} }}, true},
		{"a reading of before the deletion lacks what was made since", []func(*scene){readAt(-time.Second)}, false},
		{"or around it", []func(*scene){readAt(2 * time.Second)}, false},
		{"a later one does not", []func(*scene){readAt(4 * time.Second)}, true},
		{"without a Slurm cluster there are none", []func(*scene){gone}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := set(0, 0, append([]func(*scene){deleting}, tc.change...)...).plan()
			if actions.Finished != tc.finished {
				t.Errorf("it is finished: %v; the steps are %q", actions.Finished, told(actions))
			}
		})
	}
}

func TestReasonsOfOursThatAreLeftOver(t *testing.T) {
	ours := func(change func(*Record)) func(*scene) {
		return record(0, func(r *Record) { r.Ours = true; change(r) })
	}
	for _, tc := range []struct {
		name   string
		change []func(*scene)
		want   []string
	}{
		{"of a node in service it is taken away", []func(*scene){ours(func(*Record) {})}, []string{"clear-reason n-0"}},
		{"of a busy one too", []func(*scene){ours(func(*Record) {}), job(0, 7, 0), worker(0, func(w *Worker) { w.Note.Protect = true })}, []string{"clear-reason n-0"}},
		{"of one that does not answer yet it is, and there is nothing to be resumed", []func(*scene){ours(func(r *Record) { r.Down, r.Silent = true, true })}, []string{"clear-reason n-0"}},
		{"one that is down is resumed", []func(*scene){ours(func(r *Record) { r.Down = true })}, []string{"resume n-0"}},
		{"one that is drained is undrained", []func(*scene){ours(func(r *Record) { r.Drain = true })}, []string{"undrain n-0"}},
		{"on a stale reading nothing is done", []func(*scene){ours(func(*Record) {}), stale}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expect(t, set(1, 1, tc.change...), tc.want...) })
	}
}

func TestTheLastLookForAReasonThatIsLeftOver(t *testing.T) {
	for _, tc := range []struct {
		name   string
		record *Record
		want   bool
	}{
		{"in service", &Record{Ours: true}, true},
		{"silent", &Record{Ours: true, Down: true, Silent: true}, true},
		{"somebody has drained it", &Record{Ours: true, Drain: true}, false},
		{"it is down", &Record{Ours: true, Down: true}, false},
		{"the reason is another's", &Record{}, false},
		{"it is FUTURE", &Record{Ours: true, Future: true}, false},
		{"it is not there", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := LookLeftOver.Passes(tc.record); got != tc.want {
				t.Errorf("it passes: %v", got)
			}
		})
	}
}

func TestScaleInWaitsUntilAllWorkIsListed(t *testing.T) {
	// On n-0 a job ends in an hour; on n-1 one began that the list does not have yet.
	unlisted := func(s *scene) {
		job(0, 7, time.Hour)(s)
		record(1, func(r *Record) { r.Busy = true })(s)
		for i := range s.observed.Workers {
			s.observed.Workers[i].Note.Protect = true
		}
		s.observed.Workers[0].Note.Deadline = noon.Add(time.Hour)
		s.observed.Slurm.NodesReadAt = noon.Add(time.Second)
	}
	listed := func(end time.Duration) func(*scene) {
		return func(s *scene) {
			job(1, 8, end)(s)
			s.observed.Workers[1].Note.Deadline = noon.Add(end)
			s.observed.Slurm.JobsReadAt = noon.Add(2 * time.Second)
		}
	}
	for _, tc := range []struct {
		name   string
		change []func(*scene)
		want   []string
	}{
		{"none is chosen before it is", nil, nil},
		{"then the one whose job ends first", []func(*scene){listed(time.Minute)}, []string{"annotate n-1 ScaleIn", "drain n-1"}},
		{"or the other", []func(*scene){listed(2 * time.Hour)}, []string{"annotate n-0 ScaleIn", "drain n-0"}},
		{"a node that is busy without a job in a list made later ends last", []func(*scene){func(s *scene) { s.observed.Slurm.JobsReadAt = noon.Add(2 * time.Second) }}, []string{"annotate n-0 ScaleIn", "drain n-0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := expect(t, set(1, 2, append([]func(*scene){unlisted}, tc.change...)...), tc.want...)
			if len(tc.want) == 0 && actions.Again == 0 {
				t.Error("it does not look again")
			}
		})
	}
	// An idle one goes at once.
	expect(t, set(2, 3, unlisted), "annotate n-2 ScaleIn", "drain n-2")
}

func TestWhoIsTiedToTheNodeSet(t *testing.T) {
	bond := func(b Bond) func(*scene) { return worker(0, func(w *Worker) { w.Bond = b }) }
	for _, tc := range []struct {
		name string
		set  *scene
		want []string
	}{
		{"a worker that has its owners is left as it is", set(1, 1), nil},
		{"one of an earlier version is anchored", set(1, 1, bond(Bond{Loose: true})), []string{"adopt n-0"}},
		{"an orphan is adopted", set(1, 1, bond(Bond{Orphaned: true})), []string{"adopt n-0"}},
		{"also without a reading of Slurm", set(1, 1, bond(Bond{Orphaned: true}), stale), []string{"adopt n-0"}},
		{"a NodeSet that is being deleted takes none back", set(1, 1, bond(Bond{Orphaned: true}), deleting, job(0, 7, 0), drained(0), chosen(0, deletion), protected), nil},
		{"but anchors what it has", set(1, 1, bond(Bond{Loose: true}), deleting, job(0, 7, 0), drained(0), chosen(0, deletion), protected), []string{"adopt n-0"}},
		{"a worker that is on its way out is left as it is", set(1, 1, bond(Bond{Loose: true}), worker(0, func(w *Worker) { w.Going = noon })), nil},
		{"a NodeSet that leaves its workers behind does nothing", set(1, 1, deleting, func(s *scene) { s.desired.Orphaning = true }), nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expect(t, tc.set, tc.want...) })
	}
	if !set(1, 1, deleting, func(s *scene) { s.desired.Orphaning = true }).plan().Finished {
		t.Error("a NodeSet that leaves its workers behind stays")
	}
}

// protected has it noted that a worker is protected.
func protected(s *scene) { worker(0, func(w *Worker) { w.Note.Protect = true })(s) }
