package plan

import (
	"strings"
	"testing"
	"time"
)

// withFault has Slurm drain the node of the ordinal before now.
func withFault(i int, before time.Duration) func(*planInput) {
	return func(s *planInput) {
		withRecord(i, func(r *Record) {
			r.Dynamic, r.OwnerUID, r.Drain, r.Fault, r.FaultAt = true, "set", true, "Kill task failed", noon.Add(-before)
		})(s)
		s.observed.Slurm.DrainedSince[s.desired.SlurmName(i)] = noon.Add(-time.Minute)
	}
}

func TestFaultsEndWithTheWorker(t *testing.T) {
	records := func(s *planInput) { s.desired.CanCreateRecords, *s.desired.MaxWorkers = true, 2 }
	future := func(i int) func(*planInput) {
		return withRecord(i, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	}
	admin := func(i int) func(*planInput) { return withRecord(i, func(r *Record) { r.Fault = "" }) }
	for name, tc := range map[string]struct {
		input *planInput
		want  []string
	}{
		"the drain stays while the worker runs": {newInput(1, 1, withFault(0, time.Minute)), nil},
		"it ends when the worker is gone":       {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0)), []string{"mark-future n-1"}},
		"an administrator's stays":              {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0), admin(1)), nil},
		"an administrator's record is no lost worker": {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0), admin(1),
			withRecord(1, func(r *Record) { r.Pod = "n-1" })), []string{"clear-pod n-1"}},
		"a job of the node is waited for": {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0),
			withJob(1, 7, 0), withRecord(1, func(r *Record) { r.Busy = false })), nil},
		"jobs must have been listed since the drain": {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0),
			func(s *planInput) { s.observed.Slurm.JobsReadAt = noon.Add(-2 * time.Minute) }), nil},
		"a stale reading ends nothing": {newInput(0, 0, records, withFault(1, 2*time.Hour), future(0), withStaleReading), nil},
		"without a maximum the record is deleted": {newInput(0, 0, withFault(1, 2*time.Hour),
			func(s *planInput) { s.desired.MaxWorkers = nil }), []string{"delete-record n-1"}},
		"the record of a deleted NodeSet is deleted": {newInput(0, 0, records, withDeletion, withFault(1, 2*time.Hour)),
			[]string{"delete-record n-1"}},
		"without a maximum a record that a job names becomes FUTURE": {newInput(0, 0, withFault(1, 2*time.Hour),
			withoutMaximum, withReference("n-1", "job 5")), []string{"mark-future n-1"}},
		"the record of a deleted NodeSet becomes FUTURE if a job names it": {newInput(0, 0, records, withDeletion,
			withFault(1, 2*time.Hour), withReference("n-1", "job 5")), []string{"mark-future n-1"}},
		"while it is not known what names the record it becomes FUTURE": {newInput(0, 0, records, withDeletion,
			withFault(1, 2*time.Hour), func(s *planInput) { s.observed.Slurm.ReferencesProblem = "not read yet" }),
			[]string{"mark-future n-1"}},
		"the record above a fallen maximum becomes FUTURE": {newInput(0, 0, records, withFault(2, 2*time.Hour), withFutures(2)),
			[]string{"mark-future n-2"}},
		"other ordinals come first": {newInput(1, 0, records, withFault(0, 2*time.Hour), future(1)),
			[]string{"create 1", "mark-future n-0"}},
		"the only ordinal is cleared before its worker comes": {newInput(2, 1, records, withFault(1, 2*time.Hour)),
			[]string{"mark-future n-1", "create 1"}},
		"a busy node of the only ordinal is not cleared": {newInput(2, 1, records, withFault(1, 2*time.Hour),
			withJob(1, 7, 0)), nil},
		"another pod under the name is resumed": {newInput(1, 1, withFault(0, 2*time.Hour)), []string{"resume n-0"}},
		"a job on it changes nothing":           {newInput(1, 1, withFault(0, 2*time.Hour), withJob(0, 7, 0)), []string{"resume n-0"}},
		"a pod that is not Ready waits": {newInput(1, 1, withFault(0, 2*time.Hour),
			withWorker(0, func(w *Worker) { w.Ready = false })), nil},
		"a pod that is to go stays drained": {newInput(0, 1, withFault(0, 2*time.Hour), withCause(0, causeScaleIn)),
			[]string{"delete n-0"}},
		"a fault of an unknown time stays": {newInput(1, 1, withFault(0, 2*time.Hour),
			withRecord(0, func(r *Record) { r.FaultAt = time.Time{} })), nil},
		"an administrator's drain of an earlier pod stays": {newInput(1, 1, withFault(0, 2*time.Hour), admin(0)), nil},
		"an administrator's FAIL over it stays": {newInput(1, 1, withFault(0, 2*time.Hour),
			withRecord(0, func(r *Record) { r.DownByOthers = true })), nil},
		"a health check's DOWN of an earlier pod ends": {newInput(1, 1, withFault(0, 2*time.Hour),
			withRecord(0, func(r *Record) { r.Drain, r.Down = false, true })), []string{"resume n-0"}},
	} {
		t.Run(name, func(t *testing.T) { expectSteps(t, tc.input, tc.want...) })
	}
}

func TestAFaultOnAKubernetesNode(t *testing.T) {
	perNode := func(s *planInput) {
		s.desired.PerKubeNode, s.desired.KubeNodes, s.desired.MaxWorkers = true, []string{"k-n-0"}, nil
	}
	expectSteps(t, newInput(0, 0, perNode, withFault(0, time.Hour)), "mark-future n-0", "create -1k-n-0")
	gone := newInput(0, 0, perNode, withFault(0, time.Hour), func(s *planInput) { s.desired.KubeNodes = nil })
	expectSteps(t, gone)
	expectSteps(t, newInput(0, 0, perNode, withFault(0, time.Hour),
		func(s *planInput) { s.desired.KubeNodes, s.desired.PruneRecords = nil, true },
		withRecord(0, func(r *Record) { r.KubeNodeGone = true })), "delete-record n-0")
	expectSteps(t, newInput(0, 0, perNode, withFault(0, time.Hour), withReference("n-0", "job 5"),
		func(s *planInput) { s.desired.KubeNodes, s.desired.PruneRecords = nil, true },
		withRecord(0, func(r *Record) { r.KubeNodeGone = true })), "mark-future n-0")
}

func TestTheStepNamesTheFault(t *testing.T) {
	for _, s := range newInput(1, 1, withFault(0, 2*time.Hour)).runPlanner().Steps {
		if s.Verb == Resume && !strings.Contains(s.Reason, "Kill task failed") {
			t.Errorf("the reason is %q", s.Reason)
		}
	}
}

func TestDeletionWaitsForAFault(t *testing.T) {
	fault := withFault(0, time.Hour)
	if newInput(0, 0, withDeletion, fault).runPlanner().DeletionDone {
		t.Error("the deletion is done before the record of a faulty worker is deleted")
	}
	if !newInput(0, 0, withDeletion, fault, withRecord(0, func(r *Record) { r.Fault = "" })).runPlanner().DeletionDone {
		t.Error("the deletion waits for an administrator's drain")
	}
}

// TestAResumeIsForTheFaultThatWasRead: Slurm may drain the new worker as well before the resume.
func TestAResumeIsForTheFaultThatWasRead(t *testing.T) {
	input := newInput(1, 1, withFault(0, 2*time.Hour))
	steps := New(DefaultConfig()).Plan(noon, input.desired, input.observed).Steps
	if len(steps) != 1 || steps[0].Verb != Resume {
		t.Fatalf("the steps are %+v", steps)
	}
	seen := input.observed.Slurm.Records["n-0"]
	newer := seen
	newer.FaultAt = noon
	for name, tc := range map[string]struct {
		record *Record
		want   bool
	}{
		"the fault that was read": {&seen, true}, "a later fault": {&newer, false}, "none": {&Record{}, false}, "no node": {nil, false},
	} {
		if got := steps[0].IsMetBy(tc.record); got != tc.want {
			t.Errorf("%s: IsMetBy = %v, want %v", name, got, tc.want)
		}
	}
}
