package demand_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// addIdleWorker adds an idle copy of a node of the pools to the snapshot, past its grace. It
// returns false when there is no such node.
func addIdleWorker(r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) bool {
	if len(s.Nodes.Value) == 0 {
		return false
	}
	more := withoutWork(s.Nodes.Value[r.IntN(len(s.Nodes.Value))])
	if !isMarked(more, pools) {
		return false
	}
	more.Name, more.LastBusy, more.SlurmdStartTime = "n77", 0, 0
	s.Nodes.Value = append(slices.Clone(s.Nodes.Value), more)
	return true
}

// For every pool, whatever its nodes are: one more idle worker never raises the sum of busy and
// pending nodes.
func TestOneMoreIdleWorkerNeverRaisesPendingNodes(t *testing.T) {
	compared := 0
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		before := demandtest.ComputePools(s, pools)
		if !addIdleWorker(r, s, pools) {
			return
		}
		compared++
		for i, after := range demandtest.ComputePools(s, pools).Pools {
			if p := before.Pools[i]; after.Busy+after.Pending > p.Busy+p.Pending {
				t.Errorf("pool %s: %+v\nwith one more idle worker: %+v", p.Name, p, after)
			}
		}
	})
	if compared < clusterCount/3 {
		t.Errorf("only %d clusters were compared", compared)
	}
}

// makeAlike gives all nodes one shape, like the workers of a NodeSet.
func makeAlike(s *slurmclient.Snapshot) {
	for _, n := range s.Nodes.Value {
		demandtest.WithSize(8, 16000)(n)
		n.GRES, n.Weight, n.Features, n.ActiveFeatures = "gpu:h100:4", 1, []string{"x", "y"}, nil
		n.AllocCPUs = min(n.AllocCPUs, n.CPUs)
	}
}

// For pools whose workers are alike: one more idle worker raises the sum of Required by at most
// one, or all existing workers are needed and no missing one. In rare cases slurmctld puts jobs on
// the additional worker so that others find less room.
func TestOneMoreIdleWorkerRaisesRequiredByOneAtMost(t *testing.T) {
	compared, anomalies := 0, 0
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		makeAlike(s)
		pools := ownPools(s, r)
		for i := range pools {
			pools[i].Max = 0 // otherwise truncated values would be compared
		}
		before := demandtest.ComputePools(s, pools)
		if !addIdleWorker(r, s, pools) {
			return
		}
		compared++
		var was, is, there uint64
		for i, after := range demandtest.ComputePools(s, pools).Pools {
			was, is = was+before.Pools[i].Required, is+after.Required
			ready := after.Busy + after.Idle + after.Booting
			there += ready
		}
		if is > max(was+1, there) {
			anomalies++
		}
	})
	if anomalies*100 > compared {
		t.Errorf("one more idle worker raised Required by more than one in %d of %d clusters", anomalies, compared)
	}
	if compared < clusterCount/2 {
		t.Errorf("only %d clusters were compared", compared)
	}
}

func TestAHigherMaximumNeverLowersRequired(t *testing.T) {
	raised := 0
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		if len(pools) == 0 {
			return
		}
		at := r.IntN(len(pools))
		if pools[at].Max == 0 {
			return
		}
		before := demandtest.ComputePools(s, pools).Pools[at]
		pools[at].Max += 1 + r.Uint64N(4)
		after := demandtest.ComputePools(s, pools).Pools[at]
		if after.Required < before.Required {
			t.Errorf("%+v\nwith a higher maximum: %+v", before, after)
		}
		if after.Required > before.Required {
			raised++
		}
	})
	if raised < 100 {
		t.Errorf("Required was raised in only %d clusters", raised)
	}
}

func TestMoreReplicasNeverLowerRequired(t *testing.T) {
	forRandomPools(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot, pools []demand.Pool) {
		if len(pools) == 0 {
			return
		}
		at := r.IntN(len(pools))
		pools = pools[at : at+1]
		before := demandtest.ComputePools(s, pools).Pools[0]
		pools[0].Replicas++
		if after := demandtest.ComputePools(s, pools).Pools[0]; after.Required < before.Required {
			t.Errorf("%+v\nwith one more replica: %+v", before, after)
		}
	})
}

// TestRequiredSettles sets the replicas to the required workers, as an HPA and a NodeSet do, until they are stable. It
// leaves out jobs that name nodes, since a NodeSet ignores these.
func TestRequiredSettles(t *testing.T) {
	moved := 0
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		makeAlike(s)
		for _, j := range s.Jobs.Value {
			j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes, d.ExcludedNodes = "", "" })
		}
		pools := ownPools(s, r)[:1]
		pools[0].Shape = &demand.Shape{CPUs: 8, MemoryMiB: 16000, TmpDiskMiB: 100, GRES: "gpu:h100:4",
			Features: []string{"x", "y"}}
		var last uint64
		for round := range 10 {
			p := demandtest.ComputePools(s, pools).Pools[0]
			if round > 5 && p.Required != last {
				t.Errorf("required %d, then %d in round %d: %+v", last, p.Required, round, p)
			}
			if p.Required != last {
				moved++
			}
			last = p.Required
			followRequired(s, &pools[0], p)
		}
	})
	if moved < clusterCount/2 {
		t.Errorf("Required changed only %d times", moved)
	}
}

// followRequired sets the replicas of the pool to the required workers. New workers are idle. Of excess workers, it
// removes the down ones first, then idle ones. Idle workers are drained first, and removed in the next round unless
// they are needed again.
func followRequired(s *slurmclient.Snapshot, p *demand.Pool, d demand.PoolDemand) {
	p.Replicas = d.Required
	there := d.Busy + d.Idle + d.Booting + d.Unusable
	draining := func(n *slurm.Node) bool { return n.Reason == "scale-in" }
	s.Nodes.Value = slices.DeleteFunc(s.Nodes.Value, func(n *slurm.Node) bool {
		goes := there > d.Required && slices.Contains(n.Features, p.Feature) &&
			(draining(n) || n.State.Base == slurm.NodeDown)
		if goes {
			there--
		}
		return goes
	})
	for _, n := range s.Nodes.Value {
		switch {
		case draining(n):
			n.Reason, n.State = "", slurm.ParseNodeState("IDLE")
		case there > d.Required && slices.Contains(n.Features, p.Feature) && n.State == slurm.ParseNodeState("IDLE"):
			n.Reason, n.State = "scale-in", slurm.ParseNodeState("IDLE", "DRAIN")
			there--
		}
	}
	for ; there < d.Required; there++ {
		n := demandtest.NewNode(fmt.Sprintf("new%d", len(s.Nodes.Value)), demandtest.InPartitions(p.Name),
			demandtest.WithSize(8, 16000),
			demandtest.WithFeatures(p.Feature, "x", "y"))
		n.GRES, n.Weight = "gpu:h100:4", 1
		s.Nodes.Value = append(s.Nodes.Value, n)
	}
}
