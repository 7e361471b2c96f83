package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// withClaims adds the claim of worker 0, and the claim of a worker that is gone. Both should be deleted when
// their worker is removed.
func withClaims(s *planInput) {
	s.desired.ClaimRetention.WhenScaled = true
	s.observed.Claims = []Claim{
		{Name: "data-n-1", SlurmName: "n-1", ClaimRetention: ClaimRetention{WhenScaled: true}},
		{Name: "data-n-0", InUse: true, ClaimRetention: ClaimRetention{WhenScaled: true}},
	}
}

func TestClaimsThatScaleInLeaves(t *testing.T) {
	deleted := []ClaimChange{{Claim: "data-n-1", Delete: true, SlurmName: "n-1"}}
	for _, tc := range []struct {
		name   string
		change func(*planInput)
		want   []ClaimChange
	}{
		{"are deleted where that is asked for", func(*planInput) {}, deleted},
		{"stay on a stale reading", withStaleReading, nil},
		{"are kept where nothing is asked for", func(s *planInput) { s.desired.ClaimRetention.WhenScaled = false },
			[]ClaimChange{{Claim: "data-n-0"}, {Claim: "data-n-1"}}},
		{"are kept that were kept before it was asked for",
			func(s *planInput) { s.observed.Claims[0].ClaimRetention.WhenScaled = false }, nil},
		{"stay while they are being deleted", func(s *planInput) { s.observed.Claims[0].Deleting = true }, nil},
		{"stay while a worker is terminating", withWorker(0, func(w *Worker) { w.DeletedAt = noon }), nil},
		{"stay while a worker has finished", withWorker(0, func(w *Worker) { w.Finished = true }), nil},
		{"stay while a worker is missing", func(s *planInput) { s.desired.Replicas = 2 }, nil},
		{"stay when the NodeSet is deleted", withDeletion, nil},
		{"stay while the NodeSet has a problem", func(s *planInput) { s.desired.Frozen = true }, nil},
		{"stay in scaling mode DaemonSet", func(s *planInput) {
			s.desired.PerKubeNode, s.desired.KubeNodes = true, []string{"k-n-0"}
		}, nil},
		{"stay while another Slurm cluster answers", func(s *planInput) {
			s.desired.ClusterName, s.observed.Slurm.ClusterName = "a", "b"
		}, nil},
		{"stay while the NodeSet names another cluster", func(s *planInput) {
			s.desired.ClusterRef, s.observed.Workers[0].ClusterRef = "a", "b"
		}, nil},
		{"stay while another NodeSet owns a Slurm node of the same name", withOtherOwner(0), nil},
		{"stay while another NodeSet owns the Slurm node of their worker", withOtherOwner(1), nil},
		{"are deleted although another Slurm node has a comment of others", withComment(7), deleted},
		{"stay while the Slurm node of their worker has a comment of others", withComment(1), nil},
		{"stay while a Slurm node has a comment of others and theirs is not known", func(s *planInput) {
			withComment(7)(s)
			s.observed.Claims[0].SlurmName = ""
		}, nil},
		{"stay before Slurm has been read",
			func(s *planInput) { s.observed.Slurm = SlurmReading{Connected: true} }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newInput(1, 1, withClaims, tc.change).runPlanner().Claims); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClaimsFollowTheRetentionPolicy(t *testing.T) {
	const keep, drop = false, true
	for _, tc := range []struct {
		name                    string
		withNodeSet, whenScaled bool
		was                     ClaimRetention
		inUse                   bool
		want                    ClaimRetention
	}{
		{"one in use is kept with the NodeSet gone", keep, keep, ClaimRetention{}, true, ClaimRetention{}},
		{"one that was to go with the NodeSet is kept", keep, keep, ClaimRetention{WithNodeSet: true}, true,
			ClaimRetention{}},
		{"one that was left over too", keep, keep, ClaimRetention{true, true}, false, ClaimRetention{}},
		{"one in use goes with the NodeSet", drop, keep, ClaimRetention{}, true, ClaimRetention{WithNodeSet: true}},
		{"one that was kept before does not", drop, keep, ClaimRetention{}, false, ClaimRetention{}},
		{"one in use goes by scale-in", keep, drop, ClaimRetention{}, true, ClaimRetention{WhenScaled: true}},
		{"one that was kept before stays", keep, drop, ClaimRetention{}, false, ClaimRetention{}},
		{"one that is about to go goes", keep, drop, ClaimRetention{WhenScaled: true}, false,
			ClaimRetention{WhenScaled: true}},
		{"one that is about to go is kept", keep, keep, ClaimRetention{WhenScaled: true}, false, ClaimRetention{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newInput(1, 1, withWorker(0, func(w *Worker) { w.DeletedAt = noon.Add(-time.Second) }))
			s.desired.ClaimRetention = ClaimRetention{tc.withNodeSet, tc.whenScaled}
			s.observed.Claims = []Claim{{Name: "data", InUse: tc.inUse, ClaimRetention: tc.was}}
			var want []ClaimChange
			if tc.want != tc.was {
				want = []ClaimChange{{Claim: "data", Retention: tc.want}}
			}
			if diff := cmp.Diff(want, s.runPlanner().Claims); diff != "" {
				t.Error(diff)
			}
			s.observed.Claims[0].ClaimRetention = tc.want
			if again := s.runPlanner().Claims; len(again) > 0 {
				t.Errorf("it changes again: %+v", again)
			}
		})
	}
}

// TestClaimsOfLostWorkersStayKeptWithoutAReading: such a reading does not show that Slurm lost the worker.
func TestClaimsOfLostWorkersStayKeptWithoutAReading(t *testing.T) {
	for name, change := range map[string]func(*planInput){
		"the reading is old":                func(s *planInput) { s.observed.Slurm.Fresh = false },
		"the NodeSet names another cluster": func(s *planInput) { s.desired.ClusterRef, s.observed.Workers[0].ClusterRef = "b", "a" },
		"Slurm has not been read":           func(s *planInput) { s.observed.Slurm = SlurmReading{Connected: true} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(1, 1, change)
			s.desired.ClaimRetention = ClaimRetention{WithNodeSet: true, WhenScaled: true}
			s.observed.Claims = []Claim{{Name: "data-n-0", SlurmName: "n-0", InUse: true}}
			if got := s.runPlanner().Claims; len(got) > 0 {
				t.Errorf("the changes are %+v", got)
			}
		})
	}
}

func TestClaimsOfWorkersThatSlurmLostAreKept(t *testing.T) {
	lose := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	for name, tc := range map[string]struct {
		change []func(*planInput)
		want   []ClaimChange
	}{
		"slurmctld came back with an older state":             {[]func(*planInput){lose}, []ClaimChange{{Claim: "data-n-0"}}},
		"so it did while the worker waits for its removal":    {[]func(*planInput){lose, withCause(0, causeScaleIn), withNoReplicas}, []ClaimChange{{Claim: "data-n-0"}}},
		"the worker has registered again":                     {nil, nil},
		"it never registered, so that nothing runs beside it": {[]func(*planInput){lose, withWorker(0, func(w *Worker) { w.Registered = time.Time{} })}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(1, 1, tc.change...)
			all := ClaimRetention{WithNodeSet: true, WhenScaled: true}
			s.desired.ClaimRetention = all
			s.observed.Claims = []Claim{{Name: "data-n-0", SlurmName: "n-0", InUse: true, ClaimRetention: all}}
			if diff := cmp.Diff(tc.want, s.runPlanner().Claims); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withComment gives a FUTURE node without a worker a comment of others.
func withComment(ordinal int) func(*planInput) {
	return func(s *planInput) {
		name := fmt.Sprintf("n-%d", ordinal)
		s.observed.Slurm.Records[name] = Record{Name: name, Dynamic: true, Future: true, ForeignComment: true}
	}
}
