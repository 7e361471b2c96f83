package oracle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestTableRow(t *testing.T) {
	s := &slurmclient.Snapshot{}
	s.Partitions.Value = []*slurm.Partition{{Name: "a", MaxNodes: slurm.Infinite()}}
	s.Nodes.Value = []*slurm.Node{{Name: "a-0", Features: []string{"a"}}}
	s.Jobs.Value = []*slurm.Job{
		{ID: 7, State: slurm.JobState{Base: slurm.JobPending}, CPUs: slurm.Num(3), Tasks: slurm.Unset()},
		{ID: 8, State: slurm.JobState{Base: slurm.JobCancelled}},
		{ID: 9, Name: idleJob, State: slurm.JobState{Base: slurm.JobPending}},
	}
	want := `"seed 3": {
	nouns: []any{
		demand.Pool{Name: "a", Shape: &demand.Shape{CPUs: 4}, Max: 8},
		&slurm.Partition{Name: "a", MaxNodes: slurm.Infinite()},
		&slurm.Node{Name: "a-0", Features: []string{"a"}},
		&slurm.Job{ID: 7, State: slurm.JobState{Base: 1}, CPUs: slurm.Num(3)},
	},
	want: []uint64{0x2},
},`
	got := formatTableRow("seed 3", s, []demand.Pool{{Name: "a", Max: 8, Shape: &demand.Shape{CPUs: 4}}}, []uint64{2})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
