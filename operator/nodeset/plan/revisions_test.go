package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOrdinalsAreParsedAndFormatted(t *testing.T) {
	for text, want := range map[string][]int{
		"": nil, "0": {0}, "0-2,5": {0, 1, 2, 5}, "3-1": nil, "x,1": {1}, "-1": nil,
		"0-99999999999": {0, 1, 2, 3, 4, 5},
	} {
		if diff := cmp.Diff(want, parseOrdinals(text, 6)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := len(parseOrdinals("0-2147483646,0-2147483646", math.MaxInt32)); got != maxOrdinals {
		t.Errorf("%d ordinals are read", got)
	}
	for want, ordinals := range map[string][]int{"": nil, "4": {4}, "0-2,5,7-8": {8, 7, 5, 2, 1, 0}} {
		if got := formatOrdinals(ordinals); got != want {
			t.Errorf("%v are %q and not %q", ordinals, got, want)
		}
	}
}

// TestWorkersWithoutAnOrdinalKeepNoRevision: they are of scaling mode DaemonSet, and are replaced.
func TestWorkersWithoutAnOrdinalKeepNoRevision(t *testing.T) {
	s := newInput(2, 2, withWorker(1, func(w *Worker) { w.Slot = Slot{Ordinal: NoOrdinal, KubeNode: "k-1"} }))
	s.desired.Update.Partition = 2
	s.observed.Revisions = []Revision{{Name: "gpu-old", Hash: "old"}}
	for i := range s.observed.Workers {
		s.observed.Workers[i].Revision = "old"
	}
	if got := keptRevisions(&s.desired, &s.observed); len(got) != 1 || got[0] != "old" {
		t.Errorf("the kept revisions are %v", got)
	}
}

func TestRevisions(t *testing.T) {
	// Three old revisions exist; the newest one is "new".
	base := func(s *planInput) {
		s.desired.RevisionName, s.desired.RevisionHistoryLimit = "gpu-new", 1
		for i, hash := range []string{"a", "b", "c", "new"} {
			s.observed.Revisions = append(s.observed.Revisions,
				Revision{Name: "gpu-" + hash, Hash: hash, Number: int64(i + 1), Owned: true})
		}
	}
	without := func(name string) func(*planInput) {
		return func(s *planInput) {
			s.observed.Revisions = slices.DeleteFunc(s.observed.Revisions,
				func(r Revision) bool { return r.Name == name })
		}
	}
	partition := func(s *planInput) { s.desired.Update.Partition = 2 }
	type changes = []RevisionChange
	for _, tc := range []struct {
		name    string
		workers int
		change  []func(*planInput)
		want    changes
	}{
		{"those beyond the limit go, the oldest first to be lost", 1, nil,
			changes{{Verb: DeleteRevision, Name: "gpu-b"}, {Verb: DeleteRevision, Name: "gpu-a"}}},
		{"all stay within the limit", 1, []func(*planInput){func(s *planInput) { s.desired.RevisionHistoryLimit = 9 }},
			nil},
		{"the limit is 0", 1, []func(*planInput){func(s *planInput) { s.desired.RevisionHistoryLimit = -1 }},
			changes{{Verb: DeleteRevision, Name: "gpu-c"}, {Verb: DeleteRevision, Name: "gpu-b"},
				{Verb: DeleteRevision, Name: "gpu-a"}}},
		{"one that a worker uses stays", 1,
			[]func(*planInput){func(s *planInput) { s.observed.Workers[0].Revision = "a" }},
			changes{{Verb: DeleteRevision, Name: "gpu-b"}}},
		{"the newest is created", 1, []func(*planInput){without("gpu-new"), without("gpu-a"), without("gpu-b")},
			changes{{Verb: CreateRevision, Name: "gpu-new", Number: 4}}},
		{"there is none yet", 0, []func(*planInput){func(s *planInput) { s.observed.Revisions = nil }},
			changes{{Verb: CreateRevision, Name: "gpu-new", Number: 1}}},
		{"an old one is annotated with the ordinals that keep it", 3, []func(*planInput){partition, func(s *planInput) {
			s.observed.Workers[0].Revision, s.observed.Workers[1].Revision = "a", "a"
		}}, changes{{Verb: AnnotateRevision, Name: "gpu-a", Ordinals: "0-1"}, {Verb: DeleteRevision, Name: "gpu-b"}}},
		{"it stays while its workers are gone", 0, []func(*planInput){partition, func(s *planInput) {
			s.observed.Revisions[0].Ordinals = "0-1"
		}}, changes{{Verb: DeleteRevision, Name: "gpu-b"}}},
		{"without a partition nothing is kept", 0, []func(*planInput){func(s *planInput) {
			s.observed.Revisions[0].Ordinals = "0-1"
		}}, changes{{Verb: AnnotateRevision, Name: "gpu-a"}, {Verb: DeleteRevision, Name: "gpu-b"},
			{Verb: DeleteRevision, Name: "gpu-a"}}},
		{"orphans are adopted first", 1, []func(*planInput){without("gpu-a"), without("gpu-new"), func(s *planInput) {
			s.observed.Revisions[0].Owned, s.observed.Revisions[1].Owned = false, false
		}}, changes{{Verb: AdoptRevision, Name: "gpu-b"}, {Verb: AdoptRevision, Name: "gpu-c"},
			{Verb: CreateRevision, Name: "gpu-new", Number: 4}, {Verb: DeleteRevision, Name: "gpu-b"}}},
		{"while workers cannot be rendered only orphans are adopted", 0, []func(*planInput){func(s *planInput) {
			s.desired.Frozen, s.observed.Revisions[0].Owned = true, false
		}}, changes{{Verb: AdoptRevision, Name: "gpu-a"}}},
		{"a NodeSet that is being deleted changes none", 0, []func(*planInput){func(s *planInput) {
			s.desired.Deleting, s.observed.Revisions[0].Owned = true, false
		}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(tc.workers, tc.workers, append([]func(*planInput){base}, tc.change...)...)
			if diff := cmp.Diff(tc.want, in.runPlanner().Revisions); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewWorkersHaveTheRevisionThatTheirOrdinalKeeps(t *testing.T) {
	in := newInput(3, 0, func(s *planInput) {
		s.desired.Update.Partition = 2
		s.observed.Revisions = []Revision{{Name: "gpu-a", Hash: "a", Number: 1, Ordinals: "1-2", Owned: true}}
	})
	var got []string
	for _, step := range in.runPlanner().Steps {
		if step.Verb == CreatePod {
			got = append(got, step.SlurmName+" "+step.Revision)
		}
	}
	if diff := cmp.Diff([]string{"n-0 new", "n-1 a", "n-2 new"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRevisionsOfAnotherOperator: they are neither deleted nor kept by an ordinal, and the new revision records
// the ones that it adopts.
func TestRevisionsOfAnotherOperator(t *testing.T) {
	desired := &Desired{Revision: "new", RevisionName: "gpu-new", Update: Update{Partition: 5}}
	observed := &Observation{AdoptedRevisions: map[string]string{"b": "new", "a": "new", "x": "old"},
		Revisions: []Revision{{Name: "gpu-a", Hash: "a", Number: 3, Foreign: true, Owned: true},
			{Name: "gpu-c", Hash: "c", Number: 2, Foreign: true, Owned: true}},
		Workers: []Worker{{Revision: "new", Slot: Slot{Ordinal: 0}}, {Revision: "c", Slot: Slot{Ordinal: 1}}}}
	want := []RevisionChange{{Verb: CreateRevision, Name: "gpu-new", Number: 4, Adopts: []string{"a", "b"}}}
	if diff := cmp.Diff(want, planRevisions(desired, observed, keptRevisions(desired, observed))); diff != "" {
		t.Error(diff)
	}
}

// TestTheOrderOfRevisionsDoesNotMatter: the cache lists them in any order.
func TestTheOrderOfRevisionsDoesNotMatter(t *testing.T) {
	plan := func(a, b int) (out string) {
		s := newInput(1, 0, func(s *planInput) {
			s.desired.Update.Partition = 2
			r := []Revision{{Name: "a", Hash: "a", Number: 1, Ordinals: "0", Owned: true}, {Name: "b", Hash: "b", Number: 2, Ordinals: "0", Owned: true}}
			s.observed.Revisions = []Revision{r[a], r[b], {Name: "new", Hash: "new", Number: 3, Owned: true}}
		})
		for _, step := range s.runPlanner().Steps {
			if step.Verb == CreatePod {
				out += fmt.Sprintf("%d of %s ", step.Slot.Ordinal, step.Revision)
			}
		}
		return out
	}
	if x, y := plan(0, 1), plan(1, 0); x != y {
		t.Errorf("workers are created: %s, in another order of the revisions: %s", x, y)
	}
}
