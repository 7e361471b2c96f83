package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withFutures has FUTURE records of the ordinals below n, which workers do not have.
func withFutures(n int) func(*planInput) {
	return func(s *planInput) {
		for i := len(s.observed.Workers); i < n; i++ {
			withRecord(i, func(r *Record) { r.Dynamic, r.Future, r.OwnerUID = true, true, "set" })(s)
		}
	}
}

// withMaximum sets a known maximum.
func withMaximum(n int) func(*planInput) {
	return func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = n, true }
}

func withoutMaximum(s *planInput) { s.desired.MaxWorkers = nil }

// withSurplusSince has a record that has been surplus for as long.
func withSurplusSince(name string, age time.Duration) func(*planInput) {
	return func(s *planInput) {
		if s.observed.SurplusSince == nil {
			s.observed.SurplusSince = map[string]time.Time{}
		}
		s.observed.SurplusSince[name] = noon.Add(-age)
	}
}

func withReference(name, by string) func(*planInput) {
	return func(s *planInput) { s.observed.Slurm.References = map[string]string{name: by} }
}

func TestDeletionOfRecords(t *testing.T) {
	for name, tc := range map[string]struct {
		s     *planInput
		steps []string
	}{
		"a record that became surplus just now stays": {newInput(0, 0, withFutures(2), withMaximum(1)), []string{}},
		"a record that has been surplus for four minutes stays": {newInput(0, 0, withFutures(2), withMaximum(1),
			withSurplusSince("n-1", 4*time.Minute)), []string{}},
		"a record that has been surplus for five minutes is deleted": {newInput(0, 0, withFutures(2), withMaximum(1),
			withSurplusSince("n-1", 5*time.Minute)), []string{"delete-record n-1"}},
		"a surplus record that a job names stays": {newInput(0, 0, withFutures(2), withMaximum(1),
			withSurplusSince("n-1", time.Hour), withReference("n-1", "job 5")), []string{}},
		"without a maximum no FUTURE record is deleted": {newInput(0, 0, withFutures(3), withoutMaximum,
			withSurplusSince("n-2", time.Hour)), []string{}},
		"without a shape no FUTURE record is deleted": {newInput(0, 0, withFutures(3), withMaximum(1),
			func(s *planInput) { s.desired.CanCreateRecords = false }, withSurplusSince("n-2", time.Hour)), []string{}},
		"while workers cannot be rendered no FUTURE record is deleted": {newInput(0, 0, withFutures(3), withMaximum(1),
			func(s *planInput) { s.desired.Frozen = true }, withSurplusSince("n-2", time.Hour)), []string{}},
		"without a maximum the record below the highest FUTURE record returns to FUTURE": {newInput(0, 0, withFutures(2),
			withoutMaximum, withLeftoverRecord(0)), []string{"mark-future n-0"}},
		"without a maximum that was ever known the record is deleted with its pod": {newInput(0, 0, withoutMaximum,
			withLeftoverRecord(0)), []string{"delete-record n-0"}},
		"the record of a worker above a fallen maximum becomes FUTURE first": {newInput(0, 0, withFutures(1), withMaximum(1),
			withLeftoverRecord(1)), []string{"mark-future n-1"}},
		"the record of a lost worker above a fallen maximum is drained": {newInput(0, 2, withMaximum(1), withFutures(1),
			withLostPod(1), withLostPod(0)), []string{"drain n-0", "drain n-1"}},
		"the record of a lost worker above a fallen maximum stays while it has a job": {newInput(0, 0, withFutures(1),
			withMaximum(1), withLeftoverRecord(1), withJob(1, 7, 0)), []string{}},
		"without a maximum the record of a lost worker is drained": {newInput(0, 1, withoutMaximum, withLostPod(0)),
			[]string{"drain n-0"}},
		"without a maximum a worker that replaces a lost one does not keep it in service": {newInput(1, 2, withoutMaximum,
			withLostPod(1)), []string{"drain n-1"}},
		"while workers cannot be rendered the record of a lost worker stays in service": {newInput(0, 1, withoutMaximum,
			withLostPod(0), func(s *planInput) { s.desired.Frozen = true }), []string{}},
		"a named record becomes FUTURE instead of being deleted with its pod": {newInput(0, 0, withoutMaximum,
			withLeftoverRecord(0), withReference("n-0", "job 5")), []string{"mark-future n-0"}},
		"a named record of a Kubernetes node becomes FUTURE": {newInput(0, 0, func(s *planInput) { s.desired.PerKubeNode = true },
			withLeftoverRecord(0), withReference("n-0", "job 5")), []string{"mark-future n-0"}},
		"a deleted NodeSet deletes its records at once": {newInput(0, 0, withFutures(1), withDeletion),
			[]string{"delete-record n-0"}},
		"a deleted NodeSet keeps a record that a job names": {newInput(0, 0, withFutures(1), withDeletion,
			withReference("n-0", "job 5")), []string{}},
		"a deleted NodeSet keeps a record that a reservation names": {newInput(0, 0, withFutures(1), withDeletion,
			withReference("n-0", "reservation maint")), []string{}},
		"a deleted NodeSet keeps a named record of a worker as FUTURE": {newInput(0, 0, withDeletion, withLeftoverRecord(0),
			withReference("n-0", "job 5")), []string{"mark-future n-0"}},
		"while it is not known what names a record it stays": {newInput(0, 0, withFutures(1), withDeletion,
			func(s *planInput) { s.observed.Slurm.ReferencesProblem = "partitions have not been read yet" }), []string{}},
		"new names come before old ones are deleted": {newInput(0, 0, withFutures(2), withMaximum(1),
			func(s *planInput) { s.desired.SlurmName = func(int) string { return "m-0" } },
			withSurplusSince("n-0", time.Hour), withSurplusSince("n-1", time.Hour)), []string{"create-records [m-0]"}},
		"old names are deleted once the new ones exist": {newInput(0, 0, withFutures(2), withMaximum(1),
			func(s *planInput) { s.desired.SlurmName = func(int) string { return "n-1" } },
			withSurplusSince("n-0", time.Hour)), []string{"delete-record n-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.steps, formatSteps(tc.s.runPlanner())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeptRecordsHaveAReason(t *testing.T) {
	got := newInput(0, 0, withFutures(1), withDeletion, withReference("n-0", "job 5")).runPlanner()
	if diff := cmp.Diff(map[string]string{"n-0": "job 5 names it"}, got.KeptRecords); diff != "" {
		t.Error(diff)
	}
	if got.DeletionDone {
		t.Error("the NodeSet is gone although its record is left")
	}
}

func TestSurplusRecordsArePlannedAgain(t *testing.T) {
	got := newInput(0, 0, withFutures(2), withMaximum(1), withSurplusSince("n-1", 4*time.Minute)).runPlanner()
	if got.RequeueAfter != time.Minute {
		t.Errorf("RequeueAfter = %s, want 1m", got.RequeueAfter)
	}
	if diff := cmp.Diff([]string{"n-1"}, got.Surplus.Records); diff != "" {
		t.Error(diff)
	}
}
