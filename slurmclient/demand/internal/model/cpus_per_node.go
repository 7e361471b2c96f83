package model

import (
	"math"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// addRunningCPUs records how many CPUs a running job has on each of its nodes, where partitions
// limit the CPUs of their jobs per node (MaxCPUsPerNode). slurmctld only reports the sum over all
// nodes.
func (c *Cluster) addRunningCPUs(j *slurm.Job) {
	if !c.limitsCPUs {
		return
	}
	names := expandHostlist(j.Nodes)
	if len(names) == 0 {
		return
	}
	each := DivideUp(j.CPUs.Or(0), uint64(len(names)))
	for _, part := range c.PartitionsOf(j.Partition) {
		for _, name := range names {
			if c.runningCPUs[name] == nil {
				c.runningCPUs[name] = map[int]uint64{}
			}
			c.runningCPUs[name][part] = saturating.Add(c.runningCPUs[name][part], each)
		}
	}
}

// UsedCPUs returns how many CPUs of the node the jobs of each partition have.
func (c *Cluster) UsedCPUs(m *NodeState) map[int]uint64 {
	if m.BeforeWork != nil {
		return nil
	}
	used := c.runningCPUs[m.Node.Name]
	if len(used) == 1 && m.Node.AllocCPUs > 0 {
		for part := range used {
			return map[int]uint64{part: uint64(m.Node.AllocCPUs)}
		}
	}
	return used
}

// AllowedCPUs returns how many more CPUs of the node its partitions let jobs use.
func (c *Cluster) AllowedCPUs(m *NodeState) (allowed uint64) {
	if !c.limitsCPUs {
		return math.MaxUint64
	}
	used := c.UsedCPUs(m)
	for _, part := range c.Shapes[m.Shape].Partitions {
		most := c.Partitions[part].MaxCPUs
		if most == 0 {
			return math.MaxUint64
		}
		allowed = max(allowed, saturating.Sub(most, used[part]))
	}
	return allowed
}
