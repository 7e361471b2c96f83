package references_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func job(state slurm.JobBase, required string, flags ...slurm.JobFlags) *slurm.Job {
	j := &slurm.Job{ID: 5, SharedDetails: slurm.ShareDetails(slurm.JobDetails{RequiredNodes: required}), State: slurm.JobState{Base: state}}
	for _, f := range flags {
		j.State.Flags |= f
	}
	return j
}

func TestJobsNameTheirRequiredNodes(t *testing.T) {
	named := map[string]string{"cpu-4": "job 5", "cpu-5": "job 5"}
	for name, tc := range map[string]struct {
		job  *slurm.Job
		want map[string]string
	}{
		"a pending job":             {job(slurm.JobPending, "cpu-[4-5]"), named},
		"a running job":             {job(slurm.JobRunning, "cpu-[4-5]"), named},
		"a suspended job":           {job(slurm.JobSuspended, "cpu-[4-5]"), named},
		"a completing job":          {job(slurm.JobCompleted, "cpu-[4-5]", slurm.JobCompleting), named},
		"a job that is requeued":    {job(slurm.JobNodeFail, "cpu-[4-5]", slurm.JobRequeued), named},
		"a finished job":            {job(slurm.JobCompleted, "cpu-[4-5]"), nil},
		"a job that names no nodes": {job(slurm.JobPending, ""), nil},
		"a job that excludes a node": {&slurm.Job{ID: 5, SharedDetails: slurm.ShareDetails(slurm.JobDetails{ExcludedNodes: "cpu-5"}),
			State: slurm.JobState{Base: slurm.JobPending}}, nil},
		"an array": {&slurm.Job{ID: 5, ArrayJobID: 5, ArrayTasks: "1-3",
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{RequiredNodes: "cpu-[4-5]"}),
			State:         slurm.JobState{Base: slurm.JobPending}}, named},
		"a component of a heterogeneous job": {&slurm.Job{ID: 5, HetJobID: 4, HetOffset: 1,
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{RequiredNodes: "cpu-[4-5]"}),
			State:         slurm.JobState{Base: slurm.JobPending}}, named},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := references.ByNode([]*slurm.Job{tc.job}, nil, nil)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestReservationsAndPartitionsNameNodes(t *testing.T) {
	got, err := references.ByNode([]*slurm.Job{job(slurm.JobPending, "cpu-1")},
		[]*slurm.Reservation{{Name: "maint", Nodes: "cpu-[1-2]"}},
		[]*slurm.Partition{{Name: "all", Nodes: "cpu-[0-9],n1", NodeSets: "ALL"}, {Name: "two", Nodes: "cpu-[2-3]"}})
	want := map[string]string{"cpu-1": "job 5", "cpu-2": "reservation maint", "cpu-3": "partition two"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestUnreadableNodesAreAnError(t *testing.T) {
	for object, read := range map[string]func() (map[string]string, error){
		"job 5": func() (map[string]string, error) {
			return references.ByNode([]*slurm.Job{job(slurm.JobPending, "cpu-[1-")}, nil, nil)
		},
		"reservation maint": func() (map[string]string, error) {
			return references.ByNode(nil, []*slurm.Reservation{{Name: "maint", Nodes: "cpu-[1-"}}, nil)
		},
		"partition two": func() (map[string]string, error) {
			return references.ByNode(nil, nil, []*slurm.Partition{{Name: "two", Nodes: "cpu-[1-"}})
		},
	} {
		if got, err := read(); err == nil || got != nil || !strings.Contains(err.Error(), object) {
			t.Errorf("%s: ByNode = %v, %v", object, got, err)
		}
	}
}
