package slurmctld

import (
	"math/bits"
	"slices"
)

// fit chooses nodes for the job among candidates, first fit. It returns nil if they do not suffice.
// With asIfIdle, it ignores the allocations of other jobs.
func (req *requirements) fit(candidates []*node, mode occupancy) []*NodeAllocation {
	if len(req.required) > 0 {
		candidates = requiredFirst(req.required, candidates)
	}
	count := req.minNodes()
	if req.nodes > 0 || req.gpus > 0 || len(req.required) > 1 {
		return req.fitEvenly(candidates, count, mode)
	}
	if g := req.fitEvenly(candidates, count, mode); g != nil {
		return g
	}
	return req.fitGreedily(candidates, mode)
}

// requiredFirst moves the named nodes before the others. It returns nil if one is missing.
func requiredFirst(names []string, nodes []*node) []*node {
	var first, rest []*node
	for _, n := range nodes {
		if slices.Contains(names, n.name) {
			first = append(first, n)
		} else {
			rest = append(rest, n)
		}
	}
	if len(first) < len(names) {
		return nil
	}
	return append(first, rest...)
}

// fitEvenly divides CPUs and GPUs evenly among count nodes.
func (req *requirements) fitEvenly(candidates []*node, count uint32, mode occupancy) []*NodeAllocation {
	var allocations []*NodeAllocation
	for k, n := range candidates {
		i := uint32(len(allocations))
		r := req.capacityOn(n, mode)
		cpus, gpus := max(1, evenShare(req.CPUs, count, i)), max(req.gpusPerNode, evenShare(req.gpus, count, i))
		if r.CPUs < cpus || r.gpus < gpus {
			if k < len(req.required) {
				return nil
			}
			continue
		}
		allocations = append(allocations, req.newAllocation(n, cpus, gpus))
		if i+1 == count {
			return allocations
		}
	}
	return nil
}

// fitGreedily takes as many CPUs as each node has until they suffice.
func (req *requirements) fitGreedily(candidates []*node, mode occupancy) []*NodeAllocation {
	var allocations []*NodeAllocation
	left := req.CPUs
	for k, n := range candidates {
		r := req.capacityOn(n, mode)
		if r.CPUs == 0 || r.gpus < req.gpusPerNode {
			if k < len(req.required) {
				return nil
			}
			continue
		}
		take := min(left, r.CPUs)
		allocations = append(allocations, req.newAllocation(n, take, req.gpusPerNode))
		if left -= take; left == 0 {
			return allocations
		}
	}
	return nil
}

func (req *requirements) newAllocation(n *node, cpus, gpus uint32) *NodeAllocation {
	g := &NodeAllocation{node: n, Name: n.name, CPUs: cpus, Sockets: n.sockets, CoresPerSocket: n.cores}
	if req.exclusive {
		g.CPUs = n.CPUs
	}
	g.Memory = req.memoryPerNode
	if g.Memory == 0 {
		g.Memory = req.memoryPerCPU * uint64(g.CPUs)
	}
	g.gpus = uint64(gpus)
	return g
}

// allocate takes the resources from the node. Before, gpus is a count; afterwards it is the set of
// GPU indexes.
func (g *NodeAllocation) allocate(j *job) {
	n := g.node
	g.Cores = n.freeCores((g.CPUs + n.threads - 1) / n.threads)
	g.gpus = freeBits(n.usedGPUs, int(g.gpus), int(n.gpus))
	n.usedCPUs += g.CPUs
	n.usedMemory += g.Memory
	n.usedGPUs |= g.gpus
	n.usedCores.union(g.Cores)
	n.jobs = append(n.jobs, j)
}

// release returns the resources to the node.
func (g *NodeAllocation) release(j *job) {
	n := g.node
	n.usedCPUs -= min(n.usedCPUs, g.CPUs)
	n.usedMemory -= min(n.usedMemory, g.Memory)
	n.usedGPUs &^= g.gpus
	n.usedCores.remove(g.Cores)
	n.jobs = slices.DeleteFunc(n.jobs, func(x *job) bool { return x == j })
}

func (n *node) freeCores(count uint32) (s coreSet) {
	for i := uint32(0); i < min(256, n.sockets*n.cores) && count > 0; i++ {
		if !n.usedCores.Has(i) {
			s.add(i)
			count--
		}
	}
	return s
}

func freeBits(used uint64, count, size int) (set uint64) {
	for i := range min(size, 64) {
		if bits.OnesCount64(set) == count {
			break
		}
		if used&(1<<i) == 0 {
			set |= 1 << i
		}
	}
	return set
}
