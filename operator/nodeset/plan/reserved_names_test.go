package plan

import (
	"slices"
	"testing"
	"time"
)

func TestNamesThatSlurmConfGivesToOthers(t *testing.T) {
	reserved := func(names ...string) func(*planInput) {
		return func(s *planInput) {
			s.desired.ReservedNames = map[string]string{}
			for _, n := range names {
				s.desired.ReservedNames[n] = "NodeSet " + n
			}
		}
	}
	records := func(most int) func(*planInput) {
		return func(s *planInput) { s.desired.CanCreateRecords, s.desired.MaxWorkers = true, &most }
	}
	unknown := func(s *planInput) { s.desired.MaxWorkers = nil }
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	long := func(s *planInput) { s.observed.SurplusSince = map[string]time.Time{"n-0": noon.Add(-time.Hour)} }
	for _, tc := range []struct {
		name     string
		set      *planInput
		steps    []string
		reserved []string
	}{
		{"the next ordinal is used", newInput(1, 0, reserved("n-0")), []string{"create 1"}, []string{"n-0"}},
		{"below the maximum alone", newInput(2, 0, reserved("n-0"), records(2)),
			[]string{"create 1"}, []string{"n-0"}},
		{"there is no record", newInput(0, 0, reserved("n-0"), records(2)), []string{"create-records [n-1]"}, []string{"n-0"}},
		{"a record is kept for a while", newInput(0, 0, reserved("n-0"), records(1), future), nil, []string{"n-0"}},
		{"then it is deleted", newInput(0, 0, reserved("n-0"), records(1), future, long),
			[]string{"delete-record n-0"}, []string{"n-0"}},
		{"also while the maximum is not known", newInput(0, 0, reserved("n-0"), unknown, future, long),
			[]string{"delete-record n-0"}, nil},
		{"a worker that has the name stays", newInput(1, 1, reserved("n-0")), nil, nil},
		{"a Kubernetes node of the name has no worker", newInput(0, 0, reserved("n-0"), withPerKubeNode("k-n-0", "k-n-1")),
			[]string{"create -1k-n-1"}, []string{"n-0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := expectSteps(t, tc.set, tc.steps...)
			if !slices.Equal(actions.Reserved, tc.reserved) {
				t.Errorf("reserved are %v, want %v", actions.Reserved, tc.reserved)
			}
		})
	}
}

// TestOtherOrdinalsReplaceNamesOfOthers: even without a maximum, up to the number of desired workers.
func TestOtherOrdinalsReplaceNamesOfOthers(t *testing.T) {
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "other", Future: true} })
	static := withRecord(0, func(r *Record) { r.Dynamic, r.Down = false, true })
	for name, tc := range map[string]struct {
		set  *planInput
		want []string
	}{
		"one replica, and slurm.conf has its name":   {newInput(1, 0, withoutMaximum, withReserved("n-0")), []string{"create 1"}},
		"one replica, and a FUTURE record of others": {newInput(1, 0, withoutMaximum, future), []string{"create 1"}},
		"one replica, and a static node":             {newInput(1, 0, withoutMaximum, static), []string{"create 1"}},
		"one replica, and a node without an owner":   {newInput(1, 0, withoutMaximum, withUnknownOwner(0)), []string{"create 1"}},
		"others have the first two names":            {newInput(2, 0, withoutMaximum, withReserved("n-0"), withOwned("n-1")), []string{"create 2", "create 3"}},
		"others have more names than there are replicas": {newInput(2, 0, withoutMaximum, withReserved("n-0", "n-1"), withOwned("n-2")),
			[]string{"create 3"}},
		"others have all names that are searched": {newInput(1, 0, withoutMaximum, withReserved("n-0", "n-1")), nil},
		"no ordinal is above the maximum":         {newInput(1, 0, withMost(1), withReserved("n-0")), nil},
	} {
		t.Run(name, func(t *testing.T) { expectSteps(t, tc.set, tc.want...) })
	}
}
