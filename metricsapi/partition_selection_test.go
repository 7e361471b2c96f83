package metricsapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestSharedJobsAndNodesCountOnce(t *testing.T) {
	type sums struct{ pending, eligible, busy, idle uint64 }
	for _, tc := range []struct {
		name   string
		change func(s *slurmclient.Snapshot)
		want   sums
	}{
		{"partitions that are up", func(*slurmclient.Snapshot) {}, sums{2, 2, 1, 2}},
		{"a partition that is down",
			func(s *slurmclient.Snapshot) { s.Partitions.Value[1].State = slurm.PartitionDown },
			sums{2, 2, 1, 2}},
		{"a partition that limits the nodes of a job",
			func(s *slurmclient.Snapshot) { s.Partitions.Value[1].MaxNodes = slurm.Num(1) }, sums{2, 2, 1, 2}},
		{"a node with a suspended job", func(s *slurmclient.Snapshot) {
			j := aJob(9, "a", "None")
			j.State.Base, j.Nodes = slurm.JobSuspended, "n1"
			s.Jobs.Value = append(s.Jobs.Value, j)
		}, sums{2, 2, 2, 1}},
		{"a node whose job started after nodes were read", func(s *slurmclient.Snapshot) {
			j := aJob(9, "a", "None")
			j.State.Base, j.Nodes, j.StartTime = slurm.JobRunning, "n1", slurm.At(noon())
			s.Jobs.Value = append(s.Jobs.Value, j)
		}, sums{2, 2, 2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf([]*slurm.Node{
				aNode("n0", "x", "a,b", slurm.NodeAllocated), aNode("n1", "x", "b,a", slurm.NodeIdle),
				aNode("n2", "x", "a", slurm.NodeIdle),
			}, []*slurm.Job{aJob(1, "a,b", "Resources"), aJob(2, "b,a,unknown", "Resources")},
				aPartition("a"), aPartition("b"))
			tc.change(s)
			of := new(Reader).Read(noon(), s, nil).selectPartitions("red", nil, labels.Everything())
			if got := (sums{of.pendingJobs(), of.eligibleJobs(), of.busyNodes(), of.idleNodes()}); got != tc.want {
				t.Errorf("the sums are %+v, want %+v", got, tc.want)
			}
		})
	}
}
