package demand_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// withEndedJobs returns the snapshot with some jobs that ended on random nodes some seconds ago, and with nodes that complete them.
func withEndedJobs(r *rand.Rand, s *slurmclient.Snapshot, ago slurm.Time) *slurmclient.Snapshot {
	out := *s
	out.Nodes.Value, out.Jobs.Value = slices.Clone(s.Nodes.Value), slices.Clone(s.Jobs.Value)
	for i, n := range out.Nodes.Value {
		if r.IntN(2) == 0 {
			continue
		}
		j := demandtest.NewJob(uint32(9000+i), demandtest.RunningOn(n.Name))
		j.State = slurm.JobState{Base: pickOne(r, slurm.JobCompleted, slurm.JobFailed, slurm.JobCancelled),
			Flags: pickOne(r, slurm.JobCompleting, 0)}
		j.EndTime, j.CPUs = demandtest.Noon-ago, slurm.Num(pickOne(r, 1, uint64(n.AllocCPUs), uint64(n.AllocCPUs)))
		out.Jobs.Value = append(out.Jobs.Value, j)
		if n.State.Allocated() && r.IntN(2) == 0 {
			out.Nodes.Value[i] = completing(r, *n)
		}
	}
	return &out
}

// completing returns a node after jobs have ended there: slurmctld has freed their resources.
func completing(r *rand.Rand, n slurm.Node) *slurm.Node {
	n.State.Base, n.State.Flags = slurm.NodeMixed, n.State.Flags|slurm.NodeCompleting
	n.AllocCPUs = pickOne(r, 0, 0, n.AllocCPUs/2)
	if n.AllocCPUs == 0 {
		n.State.Base, n.AllocMemoryMiB, n.GRESUsed = slurm.NodeIdle, 0, ""
	}
	return &n
}

// withoutEnded returns the snapshot without the jobs that have finished.
func withoutEnded(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	out := *s
	out.Jobs.Value = slices.DeleteFunc(slices.Clone(s.Jobs.Value), func(j *slurm.Job) bool { return j.State.Base.Finished() })
	return &out
}

// TestJobsThatEndedLongAgoFreeNoNode: a node that still completes them may never do so.
func TestJobsThatEndedLongAgoFreeNoNode(t *testing.T) {
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		ended := withEndedJobs(r, s, 31+slurm.Time(r.IntN(1000)))
		if diff := cmp.Diff(demandtest.ComputePools(withoutEnded(ended), pools), demandtest.ComputePools(ended, pools)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestJobsThatJustEndedAddNoNode compares jobs that just ended with the same jobs that ended long ago.
func TestJobsThatJustEndedAddNoNode(t *testing.T) {
	fewer := 0
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		ended := withEndedJobs(r, s, slurm.Time(r.IntN(31)))
		now, later := nodeFigures(demandtest.ComputeDemand(ended)), nodeFigures(demandtest.ComputeDemand(withoutEnded(ended)))
		for name, was := range later {
			is := now[name]
			if is[5] > was[5] || !slices.Equal(is[:5], was[:5]) {
				t.Errorf("partition %s: %v, and %v once the jobs ended long ago", name, is, was)
			}
			if is[5] < was[5] {
				fewer++
			}
		}
	})
	if fewer < clusterCount/50 {
		t.Errorf("ended jobs made room in %d partitions only", fewer)
	}
}
