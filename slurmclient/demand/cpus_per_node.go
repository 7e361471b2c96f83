package demand

import (
	"math"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// noteRun notes how many CPUs of each of its nodes a job has that runs, where partitions limit
// what their jobs together may have of a node (MaxCPUsPerNode). slurmctld tells their sum only.
func (c *cluster) noteRun(j *slurm.Job) {
	if !c.limitsCPUs {
		return
	}
	names := expand(j.Nodes)
	if len(names) == 0 {
		return
	}
	each := share(j.CPUs.Or(0), uint64(len(names)))
	for _, part := range c.partitionsOf(j.Partition) {
		for _, name := range names {
			if c.running[name] == nil {
				c.running[name] = map[int]uint64{}
			}
			c.running[name][part] = plus(c.running[name][part], each)
		}
	}
}

// usedCPUs is how many CPUs of the node the jobs of partitions have, by their places.
func (c *cluster) usedCPUs(m *member) map[int]uint64 {
	if m.before != nil {
		return nil
	}
	used := c.running[m.node.Name]
	if len(used) == 1 && m.node.AllocCPUs > 0 {
		for part := range used {
			return map[int]uint64{part: uint64(m.node.AllocCPUs)}
		}
	}
	return used
}

// allowedCPUs is how many more CPUs of the node jobs may have by what its partitions allow.
func (c *cluster) allowedCPUs(m *member) (allowed uint64) {
	if !c.limitsCPUs {
		return math.MaxUint64
	}
	used := c.usedCPUs(m)
	for _, part := range c.shapes[m.shape].parts {
		most := c.parts[part].maxCPUs
		if most == 0 {
			return math.MaxUint64
		}
		allowed = max(allowed, less(most, used[part]))
	}
	return allowed
}
