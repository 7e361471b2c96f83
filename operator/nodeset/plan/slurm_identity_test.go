package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// withOtherOwner has a Slurm node belong to another NodeSet.
func withOtherOwner(i int, change ...func(*Record)) func(*planInput) {
	return withRecord(i, func(r *Record) {
		r.OwnerUID, r.OwnerName = "other", "b/gpu"
		for _, c := range change {
			c(r)
		}
	})
}

func TestWhatIsNotOursIsNotTouched(t *testing.T) {
	cluster := func(want, is string) func(*planInput) {
		return func(s *planInput) { s.desired.ClusterName, s.observed.Slurm.ClusterName = want, is }
	}
	joined := withWorker(0, func(w *Worker) { w.ClusterRef = "a" })
	names := func(s *planInput) { s.desired.ClusterRef = "b" }
	withPolicy := func(p DrainPolicy) func(*planInput) { return func(s *planInput) { s.desired.DrainPolicy = p } }
	drain := func(r *Record) { r.Drain, r.OurReason = true, true }
	records := func(s *planInput) { s.desired.CanCreateRecords = true }
	for _, tc := range []struct {
		name string
		set  *planInput
		want []string
	}{
		{"the same cluster is believed", newInput(0, 1, cluster("a", "a"), withOurDrain(0), withCause(0, causeScaleIn),
			withProtection), []string{"delete n-0"}},
		{"one whose name is not told too", newInput(0, 1, cluster("a", ""), withOurDrain(0), withCause(0, causeScaleIn),
			withProtection), []string{"delete n-0"}},
		{"another deletes none", newInput(0, 1, cluster("a", "b"), withOurDrain(0), withCause(0, causeScaleIn),
			withProtection), nil},
		{"drains none", newInput(0, 1, cluster("a", "b"), withProtection), nil},
		{"undrains none", newInput(1, 1, cluster("a", "b"), withOurDrain(0), withProtection), nil},
		{"makes none", newInput(3, 1, cluster("a", "b"), withProtection), nil},
		{"makes no records", newInput(1, 1, cluster("a", "b"), records, withProtection), nil},
		{"is nothing to go by for Force, while the NodeSet stays",
			newInput(0, 1, cluster("a", "b"), withPolicy(DrainPolicy{Force: true}), withCause(0, causeScaleIn),
				withProtection), nil},
		{"a NodeSet that is deleted waits", newInput(1, 1, cluster("a", "b"), withDeletion, withOurDrain(0),
			withCause(0, causeDeletion), withProtection), nil},
		{"but not with Force", newInput(1, 1, cluster("a", "b"), withDeletion, withPolicy(DrainPolicy{Force: true}),
			withCause(0, causeDeletion), withProtection), []string{"delete n-0"}},
		{"a worker that joined by another object",
			newInput(0, 1, joined, names, withOurDrain(0), withCause(0, causeScaleIn), withProtection), nil},

		{"a Slurm node of another NodeSet is not drained", newInput(0, 1, withOtherOwner(0), withProtection), nil},
		{"nor undrained", newInput(1, 1, withOtherOwner(0, drain), withProtection), nil},
		{"and the worker is not deleted", newInput(0, 1, withOtherOwner(0, drain), withOurDrain(0),
			withOtherOwner(0, drain), withCause(0, causeScaleIn), withProtection), nil},
		{"nor with Force, while the NodeSet stays",
			newInput(0, 1, withOtherOwner(0), withPolicy(DrainPolicy{Force: true}), withCause(0, causeScaleIn),
				withProtection), nil},
		{"no worker is made in its name", newInput(1, 0, withOtherOwner(0)), []string{"create 1"}},
		{"its record stays without a worker",
			newInput(0, 0, withOtherOwner(0, drain), withOtherOwner(1, func(r *Record) { r.Future = true })), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := expectSteps(t, tc.set, tc.want...)
			if tc.set.desired.Deleting && len(tc.want) == 0 &&
				(len(actions.Waits) != 1 ||
					!strings.Contains(actions.Waits[0].Message, "but the Slurm cluster b answers")) {
				t.Errorf("it waits: %+v", actions.Waits)
			}
		})
	}
	if steps := newInput(2, 2, withOtherOwner(0), withOtherOwner(1),
		func(s *planInput) {
			top := 4
			s.desired.MaxWorkers, s.desired.CanCreateRecords = &top,
				true
		}).runPlanner().Steps; slices.ContainsFunc(
		steps, func(s Step) bool { return slices.Contains(s.Names, "n-0") }) {
		t.Errorf("records are created again: %+v", steps)
	}
}

func TestSlurmClusterThatTheNodeSetRecords(t *testing.T) {
	answers := func(s *planInput) { s.observed.Slurm.ClusterName = "red" }
	recorded := func(s *planInput) { s.desired.RecordedCluster = "red" }
	for _, tc := range []struct {
		name    string
		workers int
		change  []func(*planInput)
		want    SlurmClusterChange
	}{
		{"a worker is registered", 1, []func(*planInput){answers}, SlurmClusterChange{Write: true, Name: "red"}},
		{"it is recorded already", 1, []func(*planInput){answers, recorded}, SlurmClusterChange{}},
		{"another one answers", 1, []func(*planInput){recorded, func(s *planInput) {
			s.observed.Slurm.ClusterName, s.desired.ClusterName = "blue", "red"
		}}, SlurmClusterChange{}},
		{"Slurm does not tell its name", 1, nil, SlurmClusterChange{}},
		{"the reading is stale", 1, []func(*planInput){answers, func(s *planInput) { s.observed.Slurm.Fresh = false }},
			SlurmClusterChange{}},
		{"no worker is ready", 1,
			[]func(*planInput){answers, func(s *planInput) { s.observed.Workers[0].Ready = false }},
			SlurmClusterChange{}},
		{"the worker is not registered", 1, []func(*planInput){answers, func(s *planInput) {
			s.observed.Slurm.Records["n-0"] = Record{Name: "n-0", Future: true}
		}}, SlurmClusterChange{}},
		{"the last worker is gone", 0, []func(*planInput){answers, recorded}, SlurmClusterChange{Write: true}},
		{"there never was one", 0, []func(*planInput){answers}, SlurmClusterChange{}},
		{"the NodeSet is being deleted", 0,
			[]func(*planInput){recorded, func(s *planInput) { s.desired.Deleting = true }},
			SlurmClusterChange{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := newInput(0, tc.workers, tc.change...).runPlanner().SlurmCluster; got != tc.want {
				t.Errorf("the change is %+v, not %+v", got, tc.want)
			}
		})
	}
}

func TestRecordsWithoutAnOwnerAreAdopted(t *testing.T) {
	lacking := func(name string, future bool) func(*planInput) {
		return func(s *planInput) {
			s.observed.Slurm.Records[name] = Record{Name: name, Future: future, Dynamic: true, OwnerUID: "set",
				OwnerMissing: true}
		}
	}
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   []string
	}{
		{"FUTURE ones", []func(*planInput){lacking("n-2", true), lacking("n-1", true)}, []string{"n-1", "n-2"}},
		{"not registered ones", []func(*planInput){lacking("n-1", false)}, nil},
		{"not without a fresh reading",
			[]func(*planInput){lacking("n-1", true), func(s *planInput) { s.observed.Slurm.Fresh = false }}, nil},
		{"not while the NodeSet is being deleted",
			[]func(*planInput){lacking("n-1", true), func(s *planInput) { s.desired.Deleting = true }}, nil},
		{"not in another Slurm cluster", []func(*planInput){lacking("n-1", true), func(s *planInput) {
			s.observed.Slurm.ClusterName, s.desired.ClusterName = "blue", "red"
		}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, step := range newInput(1, 1, tc.change...).runPlanner().Steps {
				if step.Verb == AdoptRecords {
					got = append(got, step.Names...)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the records are %q, not %q", got, tc.want)
			}
		})
	}
}

func TestAWorkerYieldsItsNameBeforeItsSlurmdRuns(t *testing.T) {
	unscheduled := withWorker(0, func(w *Worker) {
		w.KubeNode, w.Running, w.Ready, w.NeverStarted, w.Registered = "", false, false, true, time.Time{}
	})
	pulling := withWorker(0, func(w *Worker) { w.Running, w.Ready, w.NeverStarted, w.Registered = false, false, true, time.Time{} })
	commented := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Future: true, Dynamic: true, ForeignComment: true} })
	inService := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, ForeignComment: true, Busy: true} })
	older := withRecord(0, func(r *Record) { r.SlurmdStarted = noon.Add(-24 * time.Hour) })
	younger := withRecord(0, func(r *Record) { r.SlurmdStarted = noon.Add(-time.Minute) })
	busy := withOtherOwner(0, func(r *Record) { r.Busy = true })
	deletion := func(s *planInput) { withDeletion(s); withCause(0, causeDeletion)(s) }
	for _, tc := range []struct {
		name   string
		change []func(*planInput)
		want   []string
	}{
		{"not scheduled", []func(*planInput){unscheduled, withOtherOwner(0)}, []string{"delete n-0"}},
		{"its slurmd has not been started", []func(*planInput){pulling, withOtherOwner(0)}, []string{"delete n-0"}},
		{"a node of slurm.conf has the name", []func(*planInput){unscheduled, withRecord(0, func(r *Record) { r.Dynamic = false })},
			[]string{"delete n-0"}},
		{"its slurmd has crashed", []func(*planInput){pulling, withWorker(0, func(w *Worker) { w.NeverStarted = false }),
			withOtherOwner(0)}, nil},
		{"it was registered", []func(*planInput){pulling, withWorker(0, func(w *Worker) { w.Registered = noon }),
			withOtherOwner(0)}, nil},
		{"on a stale reading", []func(*planInput){pulling, withOtherOwner(0), withStaleReading}, nil},
		{"its name is free", []func(*planInput){pulling}, nil},
		{"its record has a comment of others", []func(*planInput){pulling, commented}, []string{"delete n-0"}},
		{"its record with a comment of others is in service, so it may run after all", []func(*planInput){pulling, inService}, nil},
		{"the NodeSet is deleted, and such a record is in service", []func(*planInput){pulling, inService, deletion}, nil},
		{"a record with a comment of others is down", []func(*planInput){pulling, inService, withRecord(0, func(r *Record) { r.Down = true })},
			[]string{"delete n-0"}},
		{"such a record is in service, and its slurmd is younger than the pod", []func(*planInput){pulling, inService,
			younger}, nil},
		{"not scheduled, and such a record is in service", []func(*planInput){unscheduled, inService}, []string{"delete n-0"}},
		{"such a record is in service, and its slurmd is older than the pod", []func(*planInput){pulling, inService, older},
			[]string{"delete n-0"}},
		{"another NodeSet has the record, and its slurmd is younger than the pod", []func(*planInput){pulling, busy, younger}, nil},
		{"the NodeSet is deleted, and such a slurmd is younger than the pod", []func(*planInput){pulling, busy, younger, deletion}, nil},
		{"slurm.conf has the record, and its slurmd is younger than the pod", []func(*planInput){pulling, younger,
			withRecord(0, func(r *Record) { r.Dynamic = false })}, nil},
		{"another NodeSet has the record, and its slurmd is older than the pod", []func(*planInput){pulling, busy, older},
			[]string{"delete n-0"}},
		{"another NodeSet has the record of a pod, and its slurmd is younger than the pod", []func(*planInput){pulling, busy, younger,
			withRecord(0, func(r *Record) { r.Pod = "gpu-0" })}, []string{"delete n-0"}},
		{"not scheduled, and another NodeSet has a young slurmd", []func(*planInput){unscheduled, busy, younger}, []string{"delete n-0"}},
		{"the NodeSet is deleted", []func(*planInput){pulling, withOtherOwner(0), deletion}, []string{"delete n-0"}},
		{"the NodeSet is deleted, and its record has a comment of others", []func(*planInput){pulling, commented, deletion},
			[]string{"delete n-0"}},
		{"the NodeSet is deleted, on a stale reading", []func(*planInput){pulling, withOtherOwner(0), deletion, withStaleReading}, nil},
		{"the NodeSet is deleted, and its slurmd has crashed", []func(*planInput){pulling,
			withWorker(0, func(w *Worker) { w.NeverStarted = false }), withOtherOwner(0), deletion}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expectSteps(t, newInput(1, 1, tc.change...), tc.want...) })
	}
}

// TestAWorkerThatNeverRanIsDeletedWhereSlurmListsNoNodes: a new cluster, or one at zero, has only FUTURE records.
func TestAWorkerThatNeverRanIsDeletedWhereSlurmListsNoNodes(t *testing.T) {
	pulling := withWorker(0, func(w *Worker) { w.Running, w.Ready, w.NeverStarted, w.Registered = false, false, true, time.Time{} })
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	none := func(s *planInput) { s.observed.Slurm.TotalNodes = 0 }
	old := withWorker(0, func(w *Worker) { w.Revision = "old" })
	expectSteps(t, newInput(1, 1, pulling, future, none, withCause(0, causeUpdate), old), "delete n-0")
	expectSteps(t, newInput(0, 1, pulling, future, none, withCause(0, causeScaleIn)), "delete n-0")
	expectSteps(t, newInput(1, 1, pulling, future, none, withDeletion, withCause(0, causeDeletion)), "delete n-0")
	crashed := withWorker(0, func(w *Worker) { w.NeverStarted = false })
	expectSteps(t, newInput(1, 1, pulling, crashed, future, none, withCause(0, causeUpdate), old), "delete n-0")
	noRecords := func(s *planInput) { s.observed.Slurm.Records = map[string]Record{} }
	expectSteps(t, newInput(1, 1, pulling, crashed, noRecords, none, withCause(0, causeUpdate), old), "delete n-0")
	registered := withWorker(0, func(w *Worker) { w.Registered = noon.Add(-time.Hour) })
	expectSteps(t, newInput(1, 1, pulling, crashed, registered, noRecords, none, withCause(0, causeUpdate), old))
}

// TestAWorkerThatNeverRanIsDeletedWithItsCluster: it has no running slurmd. The slurmctld of a Cluster outlives its object, so
// a worker that was just scheduled may be starting.
func TestAWorkerThatNeverRanIsDeletedWithItsCluster(t *testing.T) {
	pulling := withWorker(0, func(w *Worker) { w.Running, w.Ready, w.NeverStarted, w.Registered = false, false, true, time.Time{} })
	gone := func(s *planInput) { s.observed.Slurm = SlurmReading{Problem: "there is no Controller"} }
	expectSteps(t, newInput(1, 1, pulling, gone, withDeletion, withCause(0, causeDeletion)), "delete n-0")
	young := withWorker(0, func(w *Worker) { w.Created = noon.Add(-2 * time.Second) })
	expectSteps(t, newInput(1, 1, pulling, young, gone, withDeletion, withCause(0, causeDeletion)))
	expectSteps(t, newInput(1, 1, pulling, young, withWorker(0, func(w *Worker) { w.KubeNode = "" }), gone, withDeletion,
		withCause(0, causeDeletion)), "delete n-0")
	expectSteps(t, newInput(1, 1, pulling, withWorker(0, func(w *Worker) { w.Registered = noon }), gone, withDeletion,
		withCause(0, causeDeletion)))
}

// A clock of the Kubernetes node 90 s behind (MUNGE allows 300 s): slurmd started in the pod, the kubelet has not reported it
// yet, an administrator commented on the node. The pod is deleted under a job.
func TestAClockThatIsBehindDisplacesNoWorker(t *testing.T) {
	s := newInput(1, 1, withWorker(0, func(w *Worker) {
		w.NeverStarted, w.Registered, w.Running, w.Ready = true, time.Time{}, false, false
		w.KubeNode, w.Created = "k-n-0", noon.Add(-20*time.Second)
	}), withJob(0, 7, time.Hour), func(s *planInput) {
		s.observed.Slurm.Records["n-0"] = Record{Name: "n-0", Dynamic: true, Busy: true, ForeignComment: true,
			SlurmdStarted: noon.Add(-95 * time.Second)}
	})
	for _, step := range s.runPlanner().Steps {
		if step.Verb == DeletePod {
			t.Errorf("the pod is deleted: %+v", step)
		}
	}
}
