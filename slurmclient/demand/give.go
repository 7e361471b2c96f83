package demand

import (
	"math"
	"slices"
)

// offeredCPUs returns how many CPUs the node could give the job; 0 where the job cannot run on it.
func (c *choice) cpusOf(i int) uint64 {
	r, s := c.r, &c.seats[i]
	sh := &c.shapes[s.shape]
	if !c.isThere(i) || c.avoided[i] || c.kept != nil && c.kept[i] || !c.isMember(i) ||
		!c.meets(r, s.shape) || r.excluded[s.name] {
		return 0
	}
	if r.whole && !c.empty[i] || !c.empty[i] && c.alike[i] != nil && c.alike[i] != r ||
		r.alike && !c.empty[i] && c.alike[i] != r {
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
	cpus = r.wholeTasks(cpus)
	if most := c.parts[c.part].maxCPUs; most > 0 {
		if r.cutsWhole(sh, most) {
			return 0
		}
		// slurmctld only checks the minimum per node here, not whether the CPUs are whole tasks.
		cpus = min(cpus, less(most, c.inPart[i][c.part]))
		if cpus < c.leastOfPartition() {
			return 0
		}
	}
	return cpus
}

// leastOfPartition returns how many CPUs of a node MaxCPUsPerNode must leave for the job: those of
// all tasks that it may have on the node, even if it has fewer.
func (c *choice) leastOfPartition() uint64 {
	return max(c.r.minCPUs, times(c.r.tasksPerNode, c.r.cpusPerTask))
}

// isInPartition reports whether the node is in the partition. A new worker is in the partitions of
// its pool.
func (c *choice) isMember(i int) bool {
	s := &c.seats[i]
	if s.fresh > 0 {
		return slices.Contains(c.plan.pools[c.shapes[s.shape].pool].parts, c.part)
	}
	return slices.Contains(c.shapes[s.shape].parts, c.part)
}

// threadsOn returns how many CPUs of each core of the shape the job uses.
func (n *need) threadsOn(s *shape) uint64 {
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
func (n *need) wholeTasks(cpus uint64) uint64 {
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
func (c *choice) withinMemory(i int, cpus uint64) uint64 {
	r, free := c.r, c.free[i][amountMemory]
	if !c.takesMemory {
		return cpus
	}
	if r.wholeMemory && c.wholeMemory && r.memoryPerGRES == nil &&
		free < c.shapes[c.seats[i].shape].room[amountMemory] {
		return 0
	}
	if free < r.memoryPerNode {
		return 0
	}
	if r.perCPU > 0 {
		cpus = min(cpus, free/r.perCPU)
	}
	return cpus
}

// withinGRES returns for how many of the CPUs the node has generic resources.
func (c *choice) withinGRES(i int, cpus uint64) uint64 {
	r, whole := c.r, false
	for k, name := range c.names {
		free := c.free[i][amountGRES+k]
		if free < r.gresPerNode[name] {
			return 0
		}
		if each := r.gresPerTask[name]; each > 0 {
			cpus = min(cpus, free/each*r.cpusPerTask)
		}
		if c.ofJob(name) > 0 {
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
func (c *choice) ofJob(name string) uint64 {
	if c.r.gresPerNode != nil || c.r.gresPerTask != nil {
		return 0
	}
	return c.r.gresPerJob[name]
}

func (c *choice) gresOfJob() []uint64 {
	if len(c.r.gresPerJob) == 0 {
		return nil
	}
	out := make([]uint64, len(c.names))
	for k, name := range c.names {
		out[k] = c.ofJob(name)
	}
	return out
}

func (c *choice) lacksGRES() bool {
	return slices.ContainsFunc(c.gres, func(n uint64) bool { return n > 0 })
}

// hasAllGRES reports whether the node by itself has the generic resources that the job still needs.
func (c *choice) givesGRES(i int) bool {
	for k, need := range c.gres {
		if c.free[i][amountGRES+k] < need {
			return false
		}
	}
	return true
}

// takeOffer allocates as many CPUs of the offer as the job needs, leaving at least one for each
// further node that the job requires.
func (c *choice) takeOffer(o *offer) {
	r, sh := c.r, &c.shapes[c.seats[o.seat].shape]
	cpus := int64(o.cpus)
	if !r.whole {
		others := max(0, c.least-1)
		if c.wholeCores {
			others *= int64(r.threadsOn(sh))
		}
		cpus = min(cpus, max(c.mostCPUs-others, int64(c.leastCPUs()), 1))
		if r.tasksPerNode > 0 && !c.fillsNodes {
			tasks := share(uint64(max(c.mostCPUs, 0)), r.cpusPerTask)
			cpus = min(cpus, int64(times(share(tasks, uint64(max(c.least, 1))), r.cpusPerTask)))
		}
	}
	cpus = max(cpus, 0)
	on := taking{seat: o.seat, amounts: slices.Clone(c.free[o.seat])}
	if !r.whole {
		c.amountsOf(on.amounts, sh, uint64(cpus))
	}
	for k := range c.gres {
		got := min(c.gres[k], c.free[o.seat][amountGRES+k])
		c.gres[k] -= got
		if !r.whole {
			on.amounts[amountGRES+k] = max(on.amounts[amountGRES+k], got)
		}
	}
	c.taken = append(c.taken, on)
	o.cpus = 0
	c.cpus -= cpus
	c.mostCPUs -= cpus
	c.nodes--
	c.least--
	c.most--
}

// fitsTasks reports whether the allocations have room for the tasks. A partition's MaxCPUsPerNode
// can cut a task.
func (c *choice) holdsTasks() bool {
	if c.parts[c.part].maxCPUs == 0 || c.r.whole {
		return true
	}
	tasks := uint64(0)
	for _, on := range c.taken {
		tasks += on.amounts[amountCPUs] / c.r.cpusPerTask
	}
	return tasks >= c.r.tasks
}

// minCPUsPerNode returns how many CPUs of each node the job takes at least.
func (c *choice) leastCPUs() uint64 {
	if !c.fillsNodes && c.r.minCPUs == times(c.r.tasksPerNode, c.r.cpusPerTask) {
		return 0
	}
	return c.r.minCPUs
}

// setAmounts writes what the job allocates on a node on which it has that many CPUs.
func (c *choice) amountsOf(v amounts, sh *shape, cpus uint64) {
	r := c.r
	tasks := max(1, share(cpus, r.cpusPerTask))
	v[amountCPUs] = max(cpus, 1)
	if c.wholeCores {
		v[amountCPUs] = sh.wholeCores(v[amountCPUs], r.threadsPerCore)
	}
	var memory uint64
	for k, name := range c.names {
		v[amountGRES+k] = max(r.gresPerNode[name], times(r.gresPerTask[name], tasks))
		memory = plus(memory, times(r.memoryPerGRES[name], v[amountGRES+k]))
	}
	all := v[amountMemory]
	v[amountMemory] = max(r.memoryPerNode, times(r.perCPU, v[amountCPUs]), memory)
	if r.wholeMemory && c.wholeMemory && r.memoryPerGRES == nil {
		v[amountMemory] = all
	}
	if !c.takesMemory {
		v[amountMemory] = 0
	}
}

// canRepeat reports whether the next job of the same kind would get the same nodes and the same
// amounts.
func (c *choice) fitsAgain() bool {
	if len(c.taken) > 1 && c.r.maxNodes != c.r.nodes || c.r.whole || c.avoided != nil {
		return false
	}
	for _, on := range c.taken {
		for k, x := range on.amounts {
			if c.free[on.seat][k] < x {
				return false
			}
		}
		if most := c.parts[c.part].maxCPUs; most > 0 &&
			less(most, c.inPart[on.seat][c.part]) < max(on.amounts[amountCPUs], c.leastOfPartition()) {
			return false
		}
		if least := c.r.wholeTasks(math.MaxUint32); c.r.tasksPerNode > 0 &&
			c.free[on.seat][amountCPUs] < least {
			return false
		}
	}
	return true
}
