package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// offeredCPUs returns how many CPUs the node could give the job; 0 where the job cannot run on it.
func (c *nodeChoice) offeredCPUs(i int) uint64 {
	r, s := c.request, &c.simNodes[i]
	sh := &c.shapes[s.shape]
	if !c.isUp(i) || c.avoidedNodes[i] || c.keptNodes != nil && c.keptNodes[i] || !c.isInPartition(i) ||
		!c.meets(r, s.shape) || r.excludedNodes[s.name] {
		return 0
	}
	if r.exclusive && !c.empty[i] || !c.empty[i] && c.exclusiveTo[i] != nil && c.exclusiveTo[i] != r ||
		r.exclusiveToGroup && !c.empty[i] && c.exclusiveTo[i] != r {
		return 0
	}
	cpus := c.free[i][amountCPUs]
	if c.wholeCores && sh.threads > 1 {
		cpus = cpus / sh.threads * r.threadsOn(sh)
	}
	cpus = c.withinMemory(i, cpus)
	cpus = c.withinGRES(i, cpus)
	if cpus < r.minCPUs {
		return 0
	}
	cpus = r.cpusOfWholeTasks(cpus)
	if most := c.partitions[c.partition].maxCPUs; most > 0 {
		if r.cutsWholeNode(sh, most) {
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

// leastOfPartition returns how many CPUs of a node MaxCPUsPerNode must leave for the job: those of
// all tasks that it may have on the node, even if it has fewer.
func (c *nodeChoice) leastOfPartition() uint64 {
	return max(c.request.minCPUs, saturating.Mul(c.request.tasksPerNode, c.request.cpusPerTask))
}

// isInPartition reports whether the node is in the partition. A new worker is in the partitions of
// its pool.
func (c *nodeChoice) isInPartition(i int) bool {
	s := &c.simNodes[i]
	if s.newRank > 0 {
		return slices.Contains(c.planner.pools[c.shapes[s.shape].pool].partitions, c.partition)
	}
	return slices.Contains(c.shapes[s.shape].partitions, c.partition)
}

// threadsOn returns how many CPUs of each core of the shape the job uses.
func (n *requirements) threadsOn(s *shape) uint64 {
	if s.threads <= 1 {
		return 1
	}
	if n.threadsPerCore == 0 || n.threadsPerCore > s.threads {
		return s.threads
	}
	return n.threadsPerCore
}

// cpusOfWholeTasks returns the CPUs of the tasks that fit on so many CPUs; 0 where each node needs
// more tasks than fit.
func (n *requirements) cpusOfWholeTasks(cpus uint64) uint64 {
	tasks, least := cpus/n.cpusPerTask, uint64(1)
	switch {
	case n.tasksPerNode > 0:
		least = n.tasksPerNode
		tasks = min(tasks, max(least, 1))
	case n.maxNodes == 1 && n.tasks > 0:
		least = n.tasks
	}
	if tasks < least {
		return 0
	}
	return tasks * n.cpusPerTask
}

// withinMemory returns for how many of the CPUs the node has memory.
func (c *nodeChoice) withinMemory(i int, cpus uint64) uint64 {
	r, free := c.request, c.free[i][amountMemory]
	if !c.takesMemory {
		return cpus
	}
	if r.wholeMemory && c.wholeMemory && r.memoryPerGRES == nil &&
		free < c.shapes[c.simNodes[i].shape].room[amountMemory] {
		return 0
	}
	if free < r.memoryPerNode {
		return 0
	}
	if r.memoryPerCPU > 0 {
		cpus = min(cpus, free/r.memoryPerCPU)
	}
	return cpus
}

// withinGRES returns for how many of the CPUs the node has generic resources.
func (c *nodeChoice) withinGRES(i int, cpus uint64) uint64 {
	r, whole := c.request, false
	for k, name := range c.gresNames {
		free := c.free[i][amountGRES+k]
		if free < r.gresPerNode[name] {
			return 0
		}
		if each := r.gresPerTask[name]; each > 0 {
			cpus = min(cpus, free/each*r.cpusPerTask)
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
	if c.request.gresPerNode != nil || c.request.gresPerTask != nil {
		return 0
	}
	return c.request.gresPerJob[name]
}

func (c *nodeChoice) gresOfWholeJob() []uint64 {
	if len(c.request.gresPerJob) == 0 {
		return nil
	}
	out := make([]uint64, len(c.gresNames))
	for k, name := range c.gresNames {
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
		if c.free[i][amountGRES+k] < need {
			return false
		}
	}
	return true
}

// takeOffer allocates as many CPUs of the offer as the job needs, leaving at least one for each
// further node that the job requires.
func (c *nodeChoice) takeOffer(o *nodeOffer) {
	r, sh := c.request, &c.shapes[c.simNodes[o.node].shape]
	cpus := int64(o.cpus)
	if !r.exclusive {
		others := max(0, c.minNodesLeft-1)
		if c.wholeCores {
			others *= int64(r.threadsOn(sh))
		}
		cpus = min(cpus, max(c.maxCPUsLeft-others, int64(c.minCPUsPerNode()), 1))
		if r.tasksPerNode > 0 && !c.fillsNodes {
			tasks := divideUp(uint64(max(c.maxCPUsLeft, 0)), r.cpusPerTask)
			cpus = min(cpus, int64(saturating.Mul(divideUp(tasks, uint64(max(c.minNodesLeft, 1))), r.cpusPerTask)))
		}
	}
	cpus = max(cpus, 0)
	on := allocation{node: o.node, amounts: slices.Clone(c.free[o.node])}
	if !r.exclusive {
		c.setAmounts(on.amounts, sh, uint64(cpus))
	}
	for k := range c.gresLeft {
		got := min(c.gresLeft[k], c.free[o.node][amountGRES+k])
		c.gresLeft[k] -= got
		if !r.exclusive {
			on.amounts[amountGRES+k] = max(on.amounts[amountGRES+k], got)
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
	if c.partitions[c.partition].maxCPUs == 0 || c.request.exclusive {
		return true
	}
	tasks := uint64(0)
	for _, on := range c.allocations {
		tasks += on.amounts[amountCPUs] / c.request.cpusPerTask
	}
	return tasks >= c.request.tasks
}

// minCPUsPerNode returns how many CPUs of each node the job takes at least.
func (c *nodeChoice) minCPUsPerNode() uint64 {
	if !c.fillsNodes && c.request.minCPUs == saturating.Mul(c.request.tasksPerNode, c.request.cpusPerTask) {
		return 0
	}
	return c.request.minCPUs
}

// setAmounts writes what the job allocates on a node on which it has that many CPUs.
func (c *nodeChoice) setAmounts(v amounts, sh *shape, cpus uint64) {
	r := c.request
	tasks := max(1, divideUp(cpus, r.cpusPerTask))
	v[amountCPUs] = max(cpus, 1)
	if c.wholeCores {
		v[amountCPUs] = sh.wholeCores(v[amountCPUs], r.threadsPerCore)
	}
	var memory uint64
	for k, name := range c.gresNames {
		v[amountGRES+k] = max(r.gresPerNode[name], saturating.Mul(r.gresPerTask[name], tasks))
		memory = saturating.Add(memory, saturating.Mul(r.memoryPerGRES[name], v[amountGRES+k]))
	}
	all := v[amountMemory]
	v[amountMemory] = max(r.memoryPerNode, saturating.Mul(r.memoryPerCPU, v[amountCPUs]), memory)
	if r.wholeMemory && c.wholeMemory && r.memoryPerGRES == nil {
		v[amountMemory] = all
	}
	if !c.takesMemory {
		v[amountMemory] = 0
	}
}

// canRepeat reports whether the next job of the same kind would get the same nodes and the same
// amounts.
func (c *nodeChoice) canRepeat() bool {
	if len(c.allocations) > 1 && c.request.maxNodes != c.request.nodes || c.request.exclusive || c.avoidedNodes != nil {
		return false
	}
	for _, on := range c.allocations {
		for k, x := range on.amounts {
			if c.free[on.node][k] < x {
				return false
			}
		}
		if most := c.partitions[c.partition].maxCPUs; most > 0 &&
			saturating.Sub(most, c.partitionCPUs[on.node][c.partition]) < max(
				on.amounts[amountCPUs], c.leastOfPartition()) {
			return false
		}
		if least := c.request.cpusOfWholeTasks(math.MaxUint32); c.request.tasksPerNode > 0 &&
			c.free[on.node][amountCPUs] < least {
			return false
		}
	}
	return true
}
