package records

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func newJob(id uint32, name string) *slurm.Job { return &slurm.Job{ID: id, Name: name} }

func TestJobChanges(t *testing.T) {
	a1, b1, a2, a3 := newJob(1, "a"), newJob(1, "b"), newJob(2, "a"), newJob(3, "a")
	type change [2]*slurm.Job
	for _, tc := range []struct {
		name     string
		old, now []*slurm.Job
		want     []change
	}{
		{"two empty lists", nil, nil, nil},
		{"the same objects", []*slurm.Job{a1, a2}, []*slurm.Job{a1, a2}, nil},
		{"jobs were added", nil, []*slurm.Job{a1, a2}, []change{{nil, a1}, {nil, a2}}},
		{"jobs were removed", []*slurm.Job{a1, a2}, nil, []change{{a1, nil}, {a2, nil}}},
		{"one changed, one was removed, one was added", []*slurm.Job{a1, a2}, []*slurm.Job{b1, a3},
			[]change{{a1, b1}, {a2, nil}, {nil, a3}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []change
			for was, is := range JobChanges(tc.old, tc.now) {
				got = append(got, change{was, is})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			for range JobChanges(tc.old, tc.now) {
				break // the iterator must not panic
			}
		})
	}
}

func TestMerger(t *testing.T) {
	old := []*slurm.Job{newJob(1, "a"), newJob(2, "a"), newJob(4, "a")}
	for _, tc := range []struct {
		name    string
		add     []*slurm.Job
		want    []*slurm.Job
		kept    []uint32 // the ids of the old objects in the result
		changed bool
	}{
		{"an equal list", []*slurm.Job{newJob(1, "a"), newJob(2, "a"), newJob(4, "a")}, old, []uint32{1, 2, 4}, false},
		{"the same in another order", []*slurm.Job{newJob(4, "a"), newJob(1, "a"), newJob(2, "a")}, old,
			[]uint32{1, 2, 4}, false},
		{"a changed record", []*slurm.Job{newJob(1, "a"), newJob(2, "b"), newJob(4, "a")},
			[]*slurm.Job{old[0], newJob(2, "b"), old[2]}, []uint32{1, 4}, true},
		{"the last record of an id counts", []*slurm.Job{newJob(1, "b"), newJob(1, "c"), newJob(2, "a"),
			newJob(4, "a")}, []*slurm.Job{newJob(1, "c"), old[1], old[2]}, []uint32{2, 4}, true},
		{"a shorter list", []*slurm.Job{newJob(2, "a")}, old[1:2], []uint32{2}, true},
		{"an empty list", nil, []*slurm.Job{}, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			owned, copied := NewJobMerger(old), NewJobMerger(old)
			for _, j := range tc.add {
				owned.Add(j)
				if err := copied.AddCopy(j); err != nil {
					t.Fatal(err)
				}
				for _, is := range copied.items {
					if is == j {
						t.Errorf("job %d is not a copy", j.ID)
					}
				}
			}
			for _, m := range []*Merger[slurm.Job, uint32]{owned, copied} {
				got, changed := m.Merge()
				if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.changed {
					t.Errorf("changed is %v; %s", changed, diff)
				}
				var kept []uint32
				for _, j := range got {
					if FindJob(old, j.ID) == j {
						kept = append(kept, j.ID)
					}
				}
				if diff := cmp.Diff(tc.kept, kept); diff != "" {
					t.Errorf("the old objects: %s", diff)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	jobs := []*slurm.Job{newJob(1, "a"), newJob(3, "b")}
	if FindJob(jobs, 3) != jobs[1] || FindJob(jobs, 2) != nil || FindJob(nil, 1) != nil {
		t.Error("a job is not found by its id")
	}
	nodes := []*slurm.Node{{Name: "n1"}, {Name: "n10"}, {Name: "n2"}}
	if FindNode(nodes, "n10") != nodes[1] || FindNode(nodes, "n") != nil {
		t.Error("a node is not found by its name")
	}
}
