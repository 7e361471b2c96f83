package tally

import (
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeUse counts nodes by their use, and their CPUs and GPUs. Nodes that are off (powered down or FUTURE records) have
// no CPUs and GPUs.
type NodeUse struct {
	// Nodes is by the words of demand.NodeUses.
	Nodes map[string]uint64
	CPUs  Usage
	GPUs  map[string]Usage // by type
}

func (u *NodeUse) addNode(n *NodeFacts) {
	if u.Nodes == nil {
		u.Nodes, u.GPUs = map[string]uint64{}, map[string]Usage{}
	}
	use := demand.UseOf(n.Node)
	u.Nodes[use]++
	if use == "off" {
		return
	}
	usable := use == "idle" || use == "busy" && n.Usable && !n.State.Any(slurm.NodeReserved|slurm.NodeMaintenance)
	u.CPUs.add(uint64(n.EffectiveCPUs), uint64(n.AllocCPUs), usable)
	for _, g := range n.GPUs {
		sum := u.GPUs[g.Kind]
		sum.add(g.Total, g.Used, usable)
		u.GPUs[g.Kind] = sum
	}
}

// NodeUses are the counts of all nodes and of the nodes of each partition.
type NodeUses struct {
	All         NodeUse
	ByPartition map[string]*NodeUse
}

// CountNodeUses counts the nodes of a cluster.
func CountNodeUses(nodes []*slurm.Node) *NodeUses {
	out := &NodeUses{ByPartition: map[string]*NodeUse{}}
	gres := map[string]map[string]uint64{}
	for _, n := range nodes {
		f := factsOf(n, gres)
		out.All.addNode(f)
		for _, p := range n.Partitions {
			valueAt(out.ByPartition, p).addNode(f)
		}
	}
	return out
}
