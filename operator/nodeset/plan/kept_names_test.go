package plan

import (
	"fmt"
	"slices"
	"testing"
)

// withOldNames has two ordinals below the partition keep the revision "old", whose workers have names of their own.
func withOldNames(format string) func(*planInput) {
	return func(s *planInput) {
		s.desired.Update.Partition = 2
		s.desired.SlurmNameIn = func(revision string, i int) string {
			if revision == "old" {
				return fmt.Sprintf(format, i)
			}
			return fmt.Sprintf("n-%d", i)
		}
		s.observed.Revisions = []Revision{{Name: "gpu-old", Hash: "old", Number: 1, Ordinals: "0-1", Owned: true}}
	}
}

// withNamesOf gives the ordinals that keep their revision the present names of later ordinals.
func withNamesOf(later int) func(*planInput) {
	return func(s *planInput) {
		withOldNames("")(s)
		s.desired.SlurmNameIn = func(_ string, i int) string { return fmt.Sprintf("n-%d", i+later) }
	}
}

// withNode adds a Slurm node of the NodeSet without a pod.
func withNode(name string, change func(*Record)) func(*planInput) {
	return func(s *planInput) {
		r := Record{Name: name, Dynamic: true, OwnerUID: "set"}
		change(&r)
		s.observed.Slurm.Records[name] = r
	}
}

// TestOrdinalsThatKeepARevisionKeepTheirNames: a worker has the name in the revision that it is created from, so that name
// must be free.
func TestOrdinalsThatKeepARevisionKeepTheirNames(t *testing.T) {
	old := withOldNames("m-%d")
	for _, tc := range []struct {
		name     string
		replicas int
		change   []func(*planInput)
		want     []string
	}{
		{"workers are created with the names of their revisions", 3, []func(*planInput){old},
			[]string{"m-0 old", "m-1 old", "n-2 new"}},
		{"a busy node keeps the old name", 2, []func(*planInput){old, withNode("m-1", func(r *Record) { r.Busy = true })},
			[]string{"m-0 old", "n-2 new"}},
		{"a busy node with the new name of the ordinal keeps none", 2,
			[]func(*planInput){old, withNode("n-1", func(r *Record) { r.Busy = true })}, []string{"m-0 old", "m-1 old"}},
		{"the node of another NodeSet keeps the old name", 2,
			[]func(*planInput){old, withNode("m-1", func(r *Record) { r.OwnerUID = "other" })}, []string{"m-0 old", "n-2 new"}},
		{"a NodeSet keeps the old name", 2,
			[]func(*planInput){old, func(s *planInput) { s.desired.ReservedNames = map[string]string{"m-1": "NodeSet m-1"} }},
			[]string{"m-0 old", "n-2 new"}},
		{"no two workers get one name", 3, []func(*planInput){withNamesOf(2)}, []string{"n-2 old", "n-3 old", "n-4 new"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(tc.replicas, 0, tc.change...)
			var got []string
			for _, step := range in.runPlanner().Steps {
				if step.Verb == CreatePod {
					got = append(got, step.SlurmName+" "+step.Revision)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("the workers are %q, not %q", got, tc.want)
			}
		})
	}
}

func TestRecordsOfOrdinalsThatKeepARevision(t *testing.T) {
	in := newInput(0, 0, withOldNames("m-%d"), func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 3, true })
	got := formatSteps(in.runPlanner())
	if want := []string{"create-records [n-2]", "create-records [m-0 m-1]"}; !slices.Equal(got, want) {
		t.Errorf("the steps are %q, not %q", got, want)
	}
}

// TestNamesThatAreNotKnownHaveNoRecords: an old revision has hostNetwork.
func TestNamesThatAreNotKnownHaveNoRecords(t *testing.T) {
	in := newInput(0, 0, withOldNames(""), func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 3, true })
	in.desired.SlurmNameIn = func(string, int) string { return "" }
	if got, want := formatSteps(in.runPlanner()), []string{"create-records [n-2]"}; !slices.Equal(got, want) {
		t.Errorf("the steps are %q, not %q", got, want)
	}
}

func TestNamesAreKeptOnce(t *testing.T) {
	in := newInput(0, 0, withOldNames("m-%d"))
	for range 2 {
		in.desired.KeepNames(&in.observed)
		if got := in.desired.SlurmName(1) + " " + in.desired.SlurmName(2); got != "m-1 n-2" || in.desired.SlurmNameIn != nil {
			t.Errorf("the names are %s", got)
		}
	}
}

// TestANameOfTwoRevisionsIsThatOfTheLowestOrdinal: a plan does not depend on the order of a map.
func TestANameOfTwoRevisionsIsThatOfTheLowestOrdinal(t *testing.T) {
	desired := &Desired{SlurmName: func(int) string { return "gpu-11" }}
	for range 100 {
		if got := keptByName(desired, map[int]string{1: "a", 5: "b", 11: "b"}); got["gpu-11"] != "a" {
			t.Fatalf("the name has the revision %s", got["gpu-11"])
		}
	}
}
