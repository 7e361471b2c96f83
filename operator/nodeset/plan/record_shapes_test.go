package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withOldShape gives records of ordinals another shape, which a worker of the NodeSet fits.
func withOldShape(ordinals ...int) func(*planInput) {
	return func(s *planInput) {
		for _, i := range ordinals {
			withRecord(i, func(r *Record) { r.OtherShape = true })(s)
		}
	}
}

// withLargerShape gives the records of ordinals a shape that makes Slurm refuse a worker of the NodeSet.
func withLargerShape(ordinals ...int) func(*planInput) {
	return func(s *planInput) {
		for _, i := range ordinals {
			withRecord(i, func(r *Record) { r.OtherShape, r.ExceedsShape = true, true })(s)
		}
	}
}

func withInvalidRegistration(i int) func(*planInput) {
	return withRecord(i, func(r *Record) {
		r.InvalidRegistration, r.Refusal, r.Drain = true, "Low CPUs", true
	})
}

func TestRecordsOfAnotherShape(t *testing.T) {
	perKubeNode := func(s *planInput) {
		s.desired.PerKubeNode, s.desired.KubeNodes = true, []string{"k-n-0"}
	}
	for name, tc := range map[string]struct {
		s     *planInput
		steps []string
	}{
		"FUTURE records of the same shape stay": {newInput(0, 0, withFutures(4), withMaximum(4)), []string{}},
		"a quarter of them is created again at a time": {newInput(0, 0, withFutures(8), withMaximum(8),
			withOldShape(0, 1, 2, 3, 4, 5, 6, 7)), []string{"recreate-record n-0", "recreate-record n-1"}},
		"of few records one is created again": {newInput(0, 0, withFutures(2), withMaximum(2), withLargerShape(0, 1)),
			[]string{"recreate-record n-0"}},
		"a named record stays": {newInput(0, 0, withFutures(2), withMaximum(2), withOldShape(0, 1),
			withReference("n-0", "job 5")), []string{"recreate-record n-1"}},
		"nothing is created again while it is not known what names a record": {newInput(0, 0, withFutures(2), withMaximum(2),
			withOldShape(0, 1), func(s *planInput) { s.observed.Slurm.ReferencesProblem = "no answer" }), []string{}},
		"nothing is created again on a stale reading": {newInput(0, 0, withFutures(2), withMaximum(2), withOldShape(0),
			withStaleReading), []string{}},
		"nothing is created again while records are missing": {newInput(0, 0, withFutures(2), withMaximum(3),
			withOldShape(0, 1)), []string{"create-records [n-2]"}},
		"nothing is created again while the NodeSet is deleted": {newInput(0, 0, withFutures(1), withMaximum(1),
			withOldShape(0), withDeletion), []string{"delete-record n-0"}},
		"nothing is created again without need while the maximum is not known": {newInput(0, 0, withFutures(2),
			withoutMaximum, withOldShape(0, 1)), []string{}},
		"the record of a running worker stays": {newInput(1, 1, withMaximum(1), withOldShape(0)), []string{}},
		"a record that Slurm made invalid is created again": {newInput(0, 0, withFutures(1), withMaximum(1),
			withInvalidRegistration(0)), []string{"recreate-record n-0"}},
		"no worker gets a record that is created again": {newInput(1, 0, withFutures(1), withMaximum(1), withOldShape(0)),
			[]string{"recreate-record n-0"}},
		"a worker gets the next record of its shape": {newInput(1, 0, withFutures(2), withMaximum(2), withOldShape(0)),
			[]string{"create 1", "recreate-record n-0"}},
		"a worker gets a smaller record that must stay last": {newInput(2, 0, withFutures(2), withMaximum(2), withOldShape(0),
			withReference("n-0", "job 5")), []string{"create 1", "create 0"}},
		"no worker gets a larger record that must stay": {newInput(2, 0, withFutures(2), withMaximum(2), withLargerShape(0),
			withReference("n-0", "job 5")), []string{"create 1"}},
		"no worker gets a larger record on a stale reading": {newInput(2, 0, withFutures(2), withMaximum(2),
			withLargerShape(0), withStaleReading), []string{"create 1"}},
		"records that workers wait for come first": {newInput(1, 0, withFutures(3), withMaximum(3), withOldShape(0, 1, 2),
			withReference("n-0", "job 5"), withLargerShape(0), func(s *planInput) { s.desired.Replicas = 2 }),
			[]string{"recreate-record n-1"}},
		"a drained record of another shape becomes FUTURE before its worker comes": {newInput(1, 0, withMaximum(1),
			withLeftoverRecord(0), withOldShape(0)), []string{"mark-future n-0"}},
		"a worker on a Kubernetes node waits until the old record is deleted": {newInput(0, 0, perKubeNode,
			withLeftoverRecord(0), withOldShape(0)), []string{"delete-record n-0"}},
		"a worker on a Kubernetes node waits until the FUTURE record is deleted": {newInput(0, 0, perKubeNode,
			withFutures(1), withOldShape(0)), []string{"delete-record n-0"}},
		"a FUTURE record that the operator cannot create is deleted for its worker": {newInput(1, 0, withoutMaximum,
			withFutures(1), withLargerShape(0)), []string{"delete-record n-0"}},
		"an ordinal that keeps an old revision keeps its record": {newInput(0, 0, withFutures(1), withMaximum(1),
			withOldShape(0), func(s *planInput) {
				s.desired.Update.Partition = 1
				s.observed.Revisions = []Revision{{Hash: "old", Ordinals: "0"}}
			}), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.steps, formatSteps(tc.s.runPlanner())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordsThatKeepAnOldShapeHaveAReason(t *testing.T) {
	got := newInput(1, 0, withFutures(1), withMaximum(1), withLargerShape(0), withReference("n-0", "job 5")).runPlanner()
	if diff := cmp.Diff(map[string]string{"n-0": "job 5 names it"}, got.OldShapes); diff != "" {
		t.Error(diff)
	}
}

func TestRecordsOfAnotherShapeAreCreatedAgainInSteps(t *testing.T) {
	s := newInput(0, 0, withFutures(9), withMaximum(9), withOldShape(0, 1, 2, 3, 4, 5, 6, 7, 8))
	rounds := 0
	for ; rounds < 20; rounds++ {
		actions := s.runPlanner()
		if len(actions.Steps) == 0 {
			break
		}
		if left := len(actions.Steps); left > 2 || actions.RequeueAfter > time.Second {
			t.Errorf("%d records at a time, again after %s", left, actions.RequeueAfter)
		}
		for _, step := range actions.Steps {
			r := s.observed.Slurm.Records[step.SlurmName]
			r.OtherShape = false
			s.observed.Slurm.Records[step.SlurmName] = r
		}
	}
	if rounds != 5 {
		t.Errorf("it took %d rounds: %s", rounds, fmt.Sprint(s.observed.Slurm.Records))
	}
}

// TestAWorkerJoinsWhatAcceptsIt: the record may have been missing from the reading.
func TestAWorkerJoinsWhatAcceptsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		record *Record
		want   bool
	}{
		"no record":                        {nil, true},
		"FUTURE":                           {&Record{Future: true}, true},
		"a smaller FUTURE one":             {&Record{Future: true, OtherShape: true}, true},
		"a larger FUTURE one":              {&Record{Future: true, OtherShape: true, ExceedsShape: true}, false},
		"one that has refused a slurmd":    {&Record{Future: true, InvalidRegistration: true}, false},
		"a drained one":                    {&Record{Drain: true}, true},
		"a larger drained one":             {&Record{Drain: true, OtherShape: true, ExceedsShape: true}, false},
		"one that may still get a job":     {&Record{}, false},
		"one with a job, that was drained": {&Record{Drain: true, Busy: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PreconditionJoinable.IsMetBy(tc.record); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
