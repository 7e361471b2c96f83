package metricsapi

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestWhichPendingJobsCount is the table of docs/metrics-for-hpas.md. Its partition has one node, which is busy.
func TestWhichPendingJobsCount(t *testing.T) {
	type counts struct{ pending, eligible, nodes int64 }
	for _, tc := range []struct {
		name string
		job  func(j *slurm.Job)
		want counts
	}{
		{"waits for nodes", func(*slurm.Job) {}, counts{1, 1, 1}},
		{"ten tasks, five at a time", func(j *slurm.Job) {
			j.ArrayJobID, j.ArrayTasks = j.ID, "1-10%5"
		}, counts{10, 5, 5}},
		{"held", func(j *slurm.Job) { j.Reason, j.Hold, j.Priority = "JobHeldUser", true, slurm.Num(0) }, counts{1, 0, 0}},
		{"depends on another job", func(j *slurm.Job) { j.Reason, j.Dependency = "Dependency", "afterok:9" }, counts{1, 0, 0}},
		{"begins later", func(j *slurm.Job) { j.Reason, j.EligibleTime = "BeginTime", slurm.At(noon().Add(time.Hour)) }, counts{1, 0, 0}},
		{"waits for a license", func(j *slurm.Job) { j.Reason = "Licenses" }, counts{1, 0, 0}},
		{"waits for a limit of its QOS", func(j *slurm.Job) { j.Reason = "QOSMaxCpuPerUserLimit" }, counts{1, 0, 0}},
		{"needs four nodes", func(j *slurm.Job) { j.NodeCount, j.CPUs, j.Tasks = slurm.Num(4), slurm.Num(32), slurm.Num(4) },
			counts{1, 1, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			running := aJob(1, "a", "None")
			running.State.Base, running.Nodes = slurm.JobRunning, "a0"
			waiting := aJob(2, "a", "Resources")
			tc.job(waiting)
			s := snapshotOf([]*slurm.Node{aNode("a0", "a", "a", slurm.NodeAllocated)}, []*slurm.Job{running, waiting}, aPartition("a"))
			p := providerOf(fakeDirectory{"clusters": {{Object{Namespace: "team", Name: "red", Clusters: []Cluster{clusterOf("red", s)}}, nil}}}, noon())
			value := func(metric string) int64 {
				v, err := getByName(t, p, Clusters(), "team", "red", metric, "partition=a")
				if err != nil {
					t.Fatal(err)
				}
				return v.Value.Value()
			}
			got := counts{value("slurm_partition_pending_jobs"), value("slurm_partition_eligible_pending_jobs"),
				value("slurm_partition_pending_nodes")}
			if got != tc.want {
				t.Errorf("pending, eligible and nodes are %+v, want %+v", got, tc.want)
			}
		})
	}
}
