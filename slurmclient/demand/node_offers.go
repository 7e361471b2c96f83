package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// offeredCPUs returns how many CPUs the node could give the job; 0 where the job cannot run on it.
func (c *nodeChoice) offeredCPUs(i int) uint64 {
	r, s := c.request, &c.simNodes[i]
	sh := &c.Shapes[s.shape]
	if !c.isUp(i) || c.avoidedNodes[i] || c.keptNodes != nil && c.keptNodes[i] || !c.isInPartition(i) ||
		!c.meets(r, s.shape) || r.ExcludedNodes.Has(s.name) {
		return 0
	}
	if r.Exclusive && !c.empty[i] || !c.empty[i] && c.exclusiveTo[i] != nil && c.exclusiveTo[i] != r ||
		r.ExclusiveToGroup && !c.empty[i] && c.exclusiveTo[i] != r {
		return 0
	}
	cpus := c.free[i][model.AmountCPUs]
	if c.WholeCores && sh.Threads > 1 {
		cpus = cpus / sh.Threads * r.ThreadsOn(sh)
	}
	cpus = c.withinMemory(i, cpus)
	cpus = c.withinGRES(i, cpus)
	if cpus < r.MinCPUs {
		return 0
	}
	cpus = r.CpusOfWholeTasks(cpus)
	if most := c.Partitions[c.partition].MaxCPUs; most > 0 {
		if r.CutsWholeNode(sh, most) {
			return 0
		}
		// slurmctld only checks the minimum per node here, not whether the CPUs are whole tasks.
		cpus = min(cpus, saturating.Sub(most, c.partitionCPUs[i][c.partition]))
		if cpus < c.leastOfPartition() {
			return 0
		}
	}
	return cpus
}

// leastOfPartition returns how many CPUs of a node MaxCPUsPerNode must leave for the job. It counts all tasks that the
// job may have on the node, even if it has fewer.
func (c *nodeChoice) leastOfPartition() uint64 {
	return max(c.request.MinCPUs, saturating.Mul(c.request.TasksPerNode, c.request.CPUsPerTask))
}

// isInPartition reports whether the node is in the partition. A new worker is in the partitions of
// its pool.
func (c *nodeChoice) isInPartition(i int) bool {
	s := &c.simNodes[i]
	if s.newRank > 0 {
		return slices.Contains(c.planner.Pools[c.Shapes[s.shape].Pool].Partitions, c.partition)
	}
	return slices.Contains(c.Shapes[s.shape].Partitions, c.partition)
}

// withinMemory returns for how many of the CPUs the node has memory.
func (c *nodeChoice) withinMemory(i int, cpus uint64) uint64 {
	r, free := c.request, c.free[i][model.AmountMemory]
	if !c.TakesMemory {
		return cpus
	}
	if r.WholeMemory && c.WholeMemory && r.MemoryPerGRES == nil &&
		free < c.Shapes[c.simNodes[i].shape].Room[model.AmountMemory] {
		return 0
	}
	if free < r.MemoryPerNode {
		return 0
	}
	if r.MemoryPerCPU > 0 {
		cpus = min(cpus, free/r.MemoryPerCPU)
	}
	return cpus
}

// withinGRES returns for how many of the CPUs the node has generic resources.
func (c *nodeChoice) withinGRES(i int, cpus uint64) uint64 {
	r, whole := c.request, false
	for k, name := range c.GresNames {
		free := c.free[i][model.AmountGRES+k]
		if free < r.GresPerNode[name] {
			return 0
		}
		if each := r.GresPerTask[name]; each > 0 {
			cpus = min(cpus, free/each*r.CPUsPerTask)
		}
		if c.gresPerJobOnly(name) > 0 {
			whole = whole || free == 0
		}
	}
	if whole {
		return 0
	}
	return cpus
}

// gresPerJobOnly returns how much of a generic resource the whole job requests, where it does not
// request a quantity per node or task.
func (c *nodeChoice) gresPerJobOnly(name string) uint64 {
	if c.request.GresPerNode != nil || c.request.GresPerTask != nil {
		return 0
	}
	return c.request.GresPerJob[name]
}

func (c *nodeChoice) gresOfWholeJob() []uint64 {
	if len(c.request.GresPerJob) == 0 {
		return nil
	}
	out := make([]uint64, len(c.GresNames))
	for k, name := range c.GresNames {
		out[k] = c.gresPerJobOnly(name)
	}
	return out
}

func (c *nodeChoice) lacksGRES() bool {
	return slices.ContainsFunc(c.gresLeft, func(n uint64) bool { return n > 0 })
}

// hasAllGRES reports whether the node by itself has the generic resources that the job still needs.
func (c *nodeChoice) hasAllGRES(i int) bool {
	for k, need := range c.gresLeft {
		if c.free[i][model.AmountGRES+k] < need {
			return false
		}
	}
	return true
}

// takeOffer allocates as many CPUs of the offer as the job needs, leaving at least one for each
// further node that the job requires.
func (c *nodeChoice) takeOffer(o *nodeOffer) {
	r, sh := c.request, &c.Shapes[c.simNodes[o.node].shape]
	cpus := int64(o.cpus)
	if !r.Exclusive {
		others := max(0, c.minNodesLeft-1)
		if c.WholeCores {
			others *= int64(r.ThreadsOn(sh))
		}
		cpus = min(cpus, max(c.maxCPUsLeft-others, int64(c.minCPUsPerNode()), 1))
		if r.TasksPerNode > 0 && !c.FillsNodes {
			tasks := model.DivideUp(uint64(max(c.maxCPUsLeft, 0)), r.CPUsPerTask)
			cpus = min(cpus, int64(saturating.Mul(model.DivideUp(tasks, uint64(max(c.minNodesLeft, 1))),
				r.CPUsPerTask)))
		}
	}
	cpus = max(cpus, 0)
	on := allocation{node: o.node, Amounts: slices.Clone(c.free[o.node])}
	if !r.Exclusive {
		c.setAmounts(on.Amounts, sh, uint64(cpus))
	}
	for k := range c.gresLeft {
		got := min(c.gresLeft[k], c.free[o.node][model.AmountGRES+k])
		c.gresLeft[k] -= got
		if !r.Exclusive {
			on.Amounts[model.AmountGRES+k] = max(on.Amounts[model.AmountGRES+k], got)
		}
	}
	c.allocations = append(c.allocations, on)
	o.cpus = 0
	c.cpusLeft -= cpus
	c.maxCPUsLeft -= cpus
	c.nodesLeft--
	c.minNodesLeft--
	c.maxNodesLeft--
}

// fitsTasks reports whether the allocations have room for the tasks. A partition's MaxCPUsPerNode
// can cut a task.
func (c *nodeChoice) fitsTasks() bool {
	if c.Partitions[c.partition].MaxCPUs == 0 || c.request.Exclusive {
		return true
	}
	tasks := uint64(0)
	for _, on := range c.allocations {
		tasks += on.Amounts[model.AmountCPUs] / c.request.CPUsPerTask
	}
	return tasks >= c.request.Tasks
}

// minCPUsPerNode returns how many CPUs of each node the job takes at least.
func (c *nodeChoice) minCPUsPerNode() uint64 {
	if !c.FillsNodes && c.request.MinCPUs == saturating.Mul(c.request.TasksPerNode, c.request.CPUsPerTask) {
		return 0
	}
	return c.request.MinCPUs
}

// setAmounts writes what the job allocates on a node on which it has that many CPUs.
func (c *nodeChoice) setAmounts(v model.Amounts, sh *model.NodeShape, cpus uint64) {
	r := c.request
	tasks := max(1, model.DivideUp(cpus, r.CPUsPerTask))
	v[model.AmountCPUs] = max(cpus, 1)
	if c.WholeCores {
		v[model.AmountCPUs] = sh.WholeCores(v[model.AmountCPUs], r.ThreadsPerCore)
	}
	var memory uint64
	for k, name := range c.GresNames {
		v[model.AmountGRES+k] = max(r.GresPerNode[name], saturating.Mul(r.GresPerTask[name], tasks))
		memory = saturating.Add(memory, saturating.Mul(r.MemoryPerGRES[name], v[model.AmountGRES+k]))
	}
	all := v[model.AmountMemory]
	v[model.AmountMemory] = max(r.MemoryPerNode, saturating.Mul(r.MemoryPerCPU, v[model.AmountCPUs]), memory)
	if r.WholeMemory && c.WholeMemory && r.MemoryPerGRES == nil {
		v[model.AmountMemory] = all
	}
	if !c.TakesMemory {
		v[model.AmountMemory] = 0
	}
}

// canRepeat reports whether the next job of the same kind would get the same nodes and the same
// amounts.
func (c *nodeChoice) canRepeat() bool {
	if len(c.allocations) > 1 && c.request.MaxNodes != c.request.Nodes || c.request.Exclusive || c.avoidedNodes != nil {
		return false
	}
	for _, on := range c.allocations {
		for k, x := range on.Amounts {
			if c.free[on.node][k] < x {
				return false
			}
		}
		if most := c.Partitions[c.partition].MaxCPUs; most > 0 &&
			saturating.Sub(most, c.partitionCPUs[on.node][c.partition]) < max(
				on.Amounts[model.AmountCPUs], c.leastOfPartition()) {
			return false
		}
		if least := c.request.CpusOfWholeTasks(math.MaxUint32); c.request.TasksPerNode > 0 &&
			c.free[on.node][model.AmountCPUs] < least {
			return false
		}
	}
	return true
}
