package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdoptedRevisions(t *testing.T) {
	workers := func(revisions ...string) []Worker {
		var out []Worker
		for _, r := range revisions {
			out = append(out, Worker{Revision: r})
		}
		return out
	}
	foreign := Revision{Name: "gpu-a", Hash: "a", Number: 3, Foreign: true}
	for _, tc := range []struct {
		name      string
		revisions []Revision
		workers   []Worker
		theirs    string
		want      map[string]string
	}{
		{"a new NodeSet", nil, nil, "", nil},
		{"our workers", []Revision{{Hash: "new"}, {Hash: "old"}}, workers("new", "old"), "new", nil},
		{"an unknown revision beside ours is outdated", []Revision{{Hash: "new"}}, workers("new", "x"), "x", nil},
		{"a take-over", []Revision{foreign}, workers("a", "a"), "a", map[string]string{"a": "new"}},
		{"a take-over during an update", []Revision{foreign}, workers("a", "b"), "a", map[string]string{"a": "new"}},
		{"a take-over of which nothing is known", nil, workers("a", ""), "z", map[string]string{"a": "new", "": "new"}},
		{"a worker of ours before the revision is stored", []Revision{foreign}, workers("a", "new"), "a",
			map[string]string{"a": "new"}},
		{"a recorded take-over", []Revision{foreign, {Hash: "new", Adopts: []string{"", "a"}}}, workers("a", "c"), "c",
			map[string]string{"": "new", "a": "new"}},
		{"a recorded take-over, and a later change", []Revision{{Hash: "old", Adopts: []string{"a"}}, {Hash: "new"}},
			workers("a"), "new", map[string]string{"a": "old"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := AdoptedRevisions(tc.revisions, tc.workers, "new", tc.theirs)
			if diff := cmp.Diff(tc.want, got); diff != "" && len(got)+len(tc.want) > 0 {
				t.Error(diff)
			}
		})
	}
}

// TestRevisionsOfAnotherOperator: they are neither deleted nor kept by an ordinal, and the new one records what it
// adopts.
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
