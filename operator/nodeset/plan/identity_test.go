package plan

import (
	"slices"
	"strings"
	"testing"
)

// of has a Slurm node belong to another NodeSet.
func of(i int, change ...func(*Record)) func(*scene) {
	return record(i, func(r *Record) {
		r.Owner, r.OwnerName = "other", "b/gpu"
		for _, c := range change {
			c(r)
		}
	})
}

func TestWhatIsNotOursIsNotTouched(t *testing.T) {
	cluster := func(want, is string) func(*scene) {
		return func(s *scene) { s.desired.Cluster, s.observed.Slurm.Cluster = want, is }
	}
	joined := worker(0, func(w *Worker) { w.Joined = "a" })
	names := func(s *scene) { s.desired.Joins = "b" }
	withPolicy := func(p Policy) func(*scene) { return func(s *scene) { s.desired.Policy = p } }
	drain := func(r *Record) { r.Drain, r.Ours = true, true }
	records := func(s *scene) { s.desired.Records = true }
	for _, tc := range []struct {
		name string
		set  *scene
		want []string
	}{
		{"the same cluster is believed", set(0, 1, cluster("a", "a"), drained(0), chosen(0, scaleIn), protected), []string{"delete n-0"}},
		{"one whose name is not told too", set(0, 1, cluster("a", ""), drained(0), chosen(0, scaleIn), protected), []string{"delete n-0"}},
		{"another deletes none", set(0, 1, cluster("a", "b"), drained(0), chosen(0, scaleIn), protected), nil},
		{"drains none", set(0, 1, cluster("a", "b"), protected), nil},
		{"undrains none", set(1, 1, cluster("a", "b"), drained(0), protected), nil},
		{"makes none", set(3, 1, cluster("a", "b"), protected), nil},
		{"makes no records", set(1, 1, cluster("a", "b"), records, protected), nil},
		{"is nothing to go by for Force, while the NodeSet stays", set(0, 1, cluster("a", "b"), withPolicy(Policy{Force: true}), chosen(0, scaleIn), protected), nil},
		{"a NodeSet that is deleted waits", set(1, 1, cluster("a", "b"), deleting, drained(0), chosen(0, deletion), protected), nil},
		{"but not with Force", set(1, 1, cluster("a", "b"), deleting, withPolicy(Policy{Force: true}), chosen(0, deletion), protected), []string{"delete n-0"}},
		{"a worker that joined by another object", set(0, 1, joined, names, drained(0), chosen(0, scaleIn), protected), nil},

		{"a Slurm node of another NodeSet is not drained", set(0, 1, of(0), protected), nil},
		{"nor undrained", set(1, 1, of(0, drain), protected), nil},
		{"and the worker is not deleted", set(0, 1, of(0, drain), drained(0), of(0, drain), chosen(0, scaleIn), protected), nil},
		{"nor with Force, while the NodeSet stays", set(0, 1, of(0), withPolicy(Policy{Force: true}), chosen(0, scaleIn), protected), nil},
		{"no worker is made in its name", set(1, 0, of(0)), []string{"create 1"}},
		{"its record stays without a worker", set(0, 0, of(0, drain), of(1, func(r *Record) { r.Future = true })), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			actions := expect(t, tc.set, tc.want...)
			if tc.set.desired.Deleting && len(tc.want) == 0 && (len(actions.Waits) != 1 || !strings.Contains(actions.Waits[0].Why, "but the Slurm cluster b answers")) {
				t.Errorf("it waits: %+v", actions.Waits)
			}
		})
	}
	if steps := set(2, 2, of(0), of(1), func(s *scene) { top := 4; s.desired.Max, s.desired.Records = &top, true }).plan().Steps; slices.ContainsFunc(steps, func(s Step) bool { return slices.Contains(s.Names, "n-0") }) {
		t.Errorf("records are created again: %+v", steps)
	}
}
