package slurmctld

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// requirements is a job's request, as the scheduler sees it.
type requirements struct {
	partitions []*partition
	// nodes is the requested number of nodes; 0 means as few as suffice.
	nodes         uint32
	CPUs          uint32 // in total
	memoryPerNode uint64
	memoryPerCPU  uint64
	gpuType       string
	gpusPerNode   uint32
	gpus          uint32 // in total
	features      string
	required      []string
	excluded      []string
	exclusive     bool
	licenses      []licenseRequest
	minutes       slurm.Number
	// shape is equal for jobs that the same nodes fit; see formatShape.
	shape string
}

// minNodes is the least number of nodes that the job may get.
func (req *requirements) minNodes() uint32 { return max(1, req.nodes, uint32(len(req.required))) }

// accepts reports whether the node is of a suitable kind, whatever its state.
func (req *requirements) accepts(n *node) bool {
	return matchFeatures(req.features, n.features) && !slices.Contains(req.excluded, n.name) &&
		(req.gpusPerNode == 0 && req.gpus == 0 || n.gpus > 0 && (req.gpuType == "" || req.gpuType == n.gpuType))
}

// matchFeatures evaluates a constraint such as "a&b|c"; & binds tighter than |.
func matchFeatures(expr string, have []string) bool {
	if expr == "" {
		return true
	}
	for any := range strings.SplitSeq(expr, "|") {
		all := true
		for f := range strings.SplitSeq(any, "&") {
			all = all && slices.Contains(have, strings.Trim(f, "()[] "))
		}
		if all {
			return true
		}
	}
	return false
}

// featureNames returns the features named in the constraint.
func featureNames(expr string) []string {
	return strings.FieldsFunc(expr, func(r rune) bool { return strings.ContainsRune("&|()[] ,", r) })
}

// nodeCapacity is how much of one node a job could use.
type nodeCapacity struct {
	CPUs   uint32
	memory uint64
	gpus   uint32
}

// capacityOn returns what the job could use of the node: of the whole node as if it were idle, or
// of what its jobs leave free.
func (req *requirements) capacityOn(n *node, mode occupancy) nodeCapacity {
	r := nodeCapacity{n.CPUs, n.memory, n.gpus}
	if mode == asOccupied {
		if req.exclusive && len(n.jobs) > 0 {
			return nodeCapacity{}
		}
		r.CPUs, r.memory, r.gpus = n.freeResources()
	}
	if req.memoryPerNode > 0 && r.memory < req.memoryPerNode || req.gpusPerNode > r.gpus {
		return nodeCapacity{}
	}
	if req.memoryPerCPU > 0 {
		r.CPUs = min(r.CPUs, uint32(r.memory/req.memoryPerCPU))
	}
	return r
}

// occupancy selects whether the resources of running jobs count as taken.
type occupancy bool

const (
	asOccupied occupancy = false
	asIfIdle   occupancy = true
)

// evenShare returns the share of the i-th of n nodes when total is divided evenly.
func evenShare(total, n, i uint32) uint32 {
	s := total / n
	if i < total%n {
		s++
	}
	return s
}
