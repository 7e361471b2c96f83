package demand

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// keepNodesFor reserves the ready nodes for a pending job that could run on existing nodes once
// other jobs end. Backfill plans the job on them, and starts no job of lower priority there that
// could end later (slurm.conf(5), sched/backfill). Time limits are not compared: a job that would
// end in time comes after the others here.
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
			!t.request.excludedNodes[s.simNodes[i].name] {
			s.keptNodes[i] = true
		}
	}
}

// keepPlannedNodes reserves the nodes on which backfill plans a job that requires busy nodes by name:
// new workers do not help it, so that the plan stands, and jobs of lower priority need other nodes.
func (s *simRun) keepPlannedNodes(record *jobRecord) {
	if record.plannedNodes == "" {
		return
	}
	planned := expandHostlists([]string{record.plannedNodes})
	s.workLeft -= len(s.simNodes)
	for i := range s.simNodes {
		if planned[s.simNodes[i].name] {
			if s.keptNodes == nil {
				s.keptNodes = make([]bool, len(s.simNodes))
			}
			s.keptNodes[i] = true
		}
	}
}

// canRunLater reports whether the job could run on the existing nodes if they were empty.
func (h *simulation) canRunLater(t attempt) bool {
	r := t.request
	nodes, chunks, named := uint64(0), uint64(0), 0
	h.workLeft -= len(h.nodeIndexes)
	for _, i := range h.nodeIndexes {
		m := &h.nodes[i]
		sh := &h.shapes[m.shape]
		if !m.use.usable() || !slices.Contains(sh.partitions, t.partition) || !h.meets(r, m.shape) ||
			r.excludedNodes[m.node.Name] {
			continue
		}
		n := sh.room.fits(r.chunk)
		if n == 0 {
			continue
		}
		nodes, chunks = nodes+1, saturating.Add(chunks, n)
		if slices.Contains(r.requiredNodes, m.node.Name) {
			named++
		}
	}
	if named < len(r.requiredNodes) {
		return false
	}
	if r.scattered {
		return chunks >= r.nodesPerJob
	}
	return nodes >= r.nodesPerJob
}
