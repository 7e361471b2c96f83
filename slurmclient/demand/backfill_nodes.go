package demand

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// keepNodesFor reserves the ready nodes for a pending job that could run on existing nodes once other jobs end.
// Backfill plans the job on them, and starts no job of lower priority there that could end later (slurm.conf(5),
// sched/backfill). Time limits are not compared: jobs that would end in time come after the others here.
func (s *simRun) keepNodesFor(t attempt) {
	if !s.canRunLater(t) {
		return
	}
	if s.keptNodes == nil {
		s.keptNodes = make([]bool, len(s.simNodes))
	}
	c := nodeChoice{simRun: s, request: t.request, partition: t.partition}
	s.workLeft -= len(s.simNodes)
	for i := range s.simNodes {
		if c.isInPartition(i) && s.meets(t.request, s.simNodes[i].shape) &&
			!t.request.ExcludedNodes.Has(s.simNodes[i].name) {
			s.keptNodes[i] = true
		}
	}
}

// keepPlannedNodes reserves the nodes on which backfill plans a job that requires busy nodes by name. New workers do
// not help this job, so the plan stands, and jobs of lower priority need other nodes.
func (s *simRun) keepPlannedNodes(t attempt) {
	if len(t.request.RequiredNodes) == 0 {
		return
	}
	if s.keptNodes == nil {
		s.keptNodes = make([]bool, len(s.simNodes))
	}
	s.workLeft -= len(s.simNodes)
	if t.record.PlannedNodes == "" {
		s.keepNodesOfPlan(t)
		return
	}
	planned := model.ExpandHostlists([]string{t.record.PlannedNodes})
	for i := range s.simNodes {
		if planned[s.simNodes[i].name] {
			s.keptNodes[i] = true
		}
	}
}

// keepNodesOfPlan reserves nodes for a job that slurmctld has not planned yet because the nodes do not exist. These are
// the nodes that the job gets when the jobs on its required nodes have ended. Backfill removes running jobs until the
// job fits, and selects from the nodes that are free then.
func (s *simRun) keepNodesOfPlan(t attempt) {
	later := s.clone()
	ended := false
	for _, nodes := range s.placements {
		if slices.ContainsFunc(nodes, func(i int) bool {
			return slices.Contains(t.request.RequiredNodes, s.simNodes[i].name)
		}) {
			later.freeNodes(nodes)
			ended = true
		}
	}
	c := nodeChoice{simRun: &later, request: t.request, partition: t.partition}
	if !ended || !c.chooseNodes() {
		return
	}
	for _, on := range c.allocations {
		s.keptNodes[on.node] = true
	}
}

// freeNodes returns nodes to their initial state.
func (s *simRun) freeNodes(nodes []int) {
	for _, i := range nodes {
		copy(s.free[i], s.simNodes[i].room)
		s.partitionCPUs[i] = maps.Clone(s.simNodes[i].usedCPUs)
		s.empty[i], s.firstPartition[i], s.exclusiveTo[i] = s.simNodes[i].empty, -1, nil
	}
}

// canRunLater reports whether the job could run on the existing nodes if they were empty.
func (h *simulation) canRunLater(t attempt) bool {
	r := t.request
	nodes, chunks, named := uint64(0), uint64(0), 0
	h.workLeft -= len(h.nodeIndexes)
	for _, i := range h.nodeIndexes {
		m := &h.Nodes[i]
		sh := &h.Shapes[m.Shape]
		if !m.Use.Usable() || !slices.Contains(sh.Partitions, t.partition) || !h.meets(r, m.Shape) ||
			r.ExcludedNodes.Has(m.Node.Name) {
			continue
		}
		n := sh.Room.Fits(r.chunk)
		if n == 0 {
			continue
		}
		nodes, chunks = nodes+1, saturating.Add(chunks, n)
		if slices.Contains(r.RequiredNodes, m.Node.Name) {
			named++
		}
	}
	if named < len(r.RequiredNodes) {
		return false
	}
	if r.scattered {
		return chunks >= r.nodesPerJob
	}
	return nodes >= r.nodesPerJob
}
