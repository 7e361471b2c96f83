package observed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestAdoptedRevisions(t *testing.T) {
	workers := func(revisions ...string) []plan.Worker {
		var out []plan.Worker
		for _, r := range revisions {
			out = append(out, plan.Worker{Revision: r})
		}
		return out
	}
	foreign := plan.Revision{Name: "gpu-a", Hash: "a", Number: 3, Foreign: true}
	for _, tc := range []struct {
		name      string
		revisions []plan.Revision
		workers   []plan.Worker
		theirs    string
		want      map[string]string
	}{
		{"a new NodeSet", nil, nil, "", nil},
		{"our workers", []plan.Revision{{Hash: "new"}, {Hash: "old"}}, workers("new", "old"), "new", nil},
		{"an unknown revision beside ours is outdated", []plan.Revision{{Hash: "new"}}, workers("new", "x"), "x", nil},
		{"a take-over", []plan.Revision{foreign}, workers("a", "a"), "a", map[string]string{"a": "new"}},
		{"a take-over during an update", []plan.Revision{foreign}, workers("a", "b"), "a", map[string]string{"a": "new"}},
		{"a take-over of which nothing is known", nil, workers("a", ""), "z", map[string]string{"a": "new", "": "new"}},
		{"a worker of ours before the revision is stored", []plan.Revision{foreign}, workers("a", "new"), "a",
			map[string]string{"a": "new"}},
		{"a recorded take-over", []plan.Revision{foreign, {Hash: "new", Adopts: []string{"", "a"}}}, workers("a", "c"), "c",
			map[string]string{"": "new", "a": "new"}},
		{"a recorded take-over, and a later change", []plan.Revision{{Hash: "old", Adopts: []string{"a"}}, {Hash: "new"}},
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
