package demand

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// simRun is the state of the nodes during one run of a simulation.
type simRun struct {
	*simulation
	workerSet
	// withNew is whether booting nodes, nodes that are free soon and new workers can be used.
	withNew bool
	// Per node:
	//
	//   - its free resources, and whether it has no job;
	//   - the request whose jobs have it exclusively;
	//   - the CPUs of each partition's jobs, if they are limited;
	//   - the partition of the first job on it, -1 for no job.
	free           []model.Amounts
	empty          []bool
	exclusiveTo    []*request
	partitionCPUs  []map[int]uint64
	firstPartition []int
	// started is how many jobs of each request have started.
	started map[*request]uint64
	// avoidedNodes are the nodes of other components of a heterogeneous job.
	avoidedNodes map[int]bool
	// keptNodes are the nodes that pending jobs will get once others end.
	keptNodes []bool
	// placements are the nodes of each job that started in the run, if a job requires nodes by name.
	placements [][]int
}

// workerSet is the set of workers that exist: a number of new ones for each pool, and all existing
// ones except the removed ones.
type workerSet struct {
	newWorkers []uint64
	removed    map[int]bool
	// hetFirst is whether heterogeneous jobs start before all others, rather than after them.
	hetFirst bool
}

// runQueue starts what slurmctld's rules allow, first on the ready nodes, then on all. It returns
// nil when that costs too much.
func (h *simulation) runQueue(workers workerSet) *simRun {
	if h.work.stops() {
		h.workLeft = -1
		return nil
	}
	s := h.newRun(workers)
	left := map[*model.JobRecord]uint64{}
	for _, attempts := range append([][]attempt{h.attempts}, h.hetAttempts...) {
		for _, t := range attempts {
			left[t.record] = t.record.Jobs
		}
	}
	ready := slices.ContainsFunc(h.simNodes, func(s simNode) bool { return s.isReady() })
	for _, s.withNew = range [...]bool{false, true} {
		if !s.withNew && !ready {
			continue
		}
		if s.hetFirst {
			s.startHets(left)
		}
		for _, t := range h.attempts {
			left[t.record] -= s.startJobs(t, left[t.record])
			switch {
			case left[t.record] == 0:
			case s.withNew:
				s.keepPlannedNodes(t)
			default:
				s.keepNodesFor(t)
			}
		}
		s.startHets(left)
		s.keptNodes = nil
	}
	if h.workLeft < 0 {
		return nil
	}
	return s
}

// newRun returns the state before any job starts.
func (h *simulation) newRun(workers workerSet) *simRun {
	s := &simRun{simulation: h, workerSet: workers, started: map[*request]uint64{}}
	size := model.AmountGRES + len(h.GresNames)
	all := make(model.Amounts, len(h.simNodes)*size)
	s.free, s.empty = make([]model.Amounts, len(h.simNodes)), make([]bool, len(h.simNodes))
	s.exclusiveTo, s.partitionCPUs = make([]*request, len(h.simNodes)), make([]map[int]uint64, len(h.simNodes))
	s.firstPartition = make([]int, len(h.simNodes))
	for i := range h.simNodes {
		s.free[i] = all[i*size : (i+1)*size]
		copy(s.free[i], h.simNodes[i].room)
		s.partitionCPUs[i] = maps.Clone(h.simNodes[i].usedCPUs)
		s.empty[i], s.firstPartition[i] = h.simNodes[i].empty, -1
	}
	return s
}

// startJobs starts up to jobs jobs of the attempt, and returns how many started.
func (s *simRun) startJobs(t attempt, jobs uint64) (started uint64) {
	for started < jobs && s.workLeft >= 0 {
		c := nodeChoice{simRun: s, request: t.request, partition: t.partition}
		if !c.chooseNodes() {
			break
		}
		started++
		s.takeNodes(&c)
		// The next job selects the same nodes as long as they have room.
		for started < jobs && c.canRepeat() {
			started++
			s.takeNodes(&c)
		}
	}
	s.started[t.request] += started
	return started
}

// startHets starts the pending heterogeneous jobs.
func (s *simRun) startHets(left map[*model.JobRecord]uint64) {
	for _, attempts := range s.hetAttempts {
		if slices.ContainsFunc(attempts, func(t attempt) bool { return left[t.record] > 0 }) {
			s.startHet(attempts, left)
		}
	}
}

// startHet starts all components of a heterogeneous job or none, no two of them on one node.
func (s *simRun) startHet(attempts []attempt, left map[*model.JobRecord]uint64) {
	before := s.clone()
	had := maps.Clone(left)
	s.avoidedNodes = map[int]bool{}
	defer func() { s.avoidedNodes = nil }()
	for _, t := range attempts {
		left[t.record] -= s.startJobs(t, left[t.record])
	}
	if slices.ContainsFunc(attempts, func(t attempt) bool { return left[t.record] > 0 }) {
		*s = before
		maps.Copy(left, had)
	}
}

// clone returns a copy of the run.
func (s *simRun) clone() simRun {
	out := *s
	out.free = make([]model.Amounts, len(s.free))
	for i := range s.free {
		out.free[i] = slices.Clone(s.free[i])
	}
	out.partitionCPUs = make([]map[int]uint64, len(s.partitionCPUs))
	for i := range s.partitionCPUs {
		out.partitionCPUs[i] = maps.Clone(s.partitionCPUs[i])
	}
	out.empty, out.firstPartition = slices.Clone(s.empty), slices.Clone(s.firstPartition)
	out.placements = slices.Clone(s.placements)
	out.exclusiveTo, out.started = slices.Clone(s.exclusiveTo), maps.Clone(s.started)
	return out
}

// takeNodes starts a job on the selected nodes.
func (s *simRun) takeNodes(c *nodeChoice) {
	if s.requiresNodes {
		nodes := make([]int, len(c.allocations))
		for n, on := range c.allocations {
			nodes[n] = on.node
		}
		s.placements = append(s.placements, nodes)
	}
	for _, on := range c.allocations {
		i := on.node
		if s.firstPartition[i] < 0 {
			s.firstPartition[i] = c.partition
		}
		s.empty[i] = false
		if s.avoidedNodes != nil {
			s.avoidedNodes[i] = true
		}
		if c.request.ExclusiveToGroup {
			s.exclusiveTo[i] = c.request
		}
		if s.Partitions[c.partition].MaxCPUs > 0 {
			if s.partitionCPUs[i] == nil {
				s.partitionCPUs[i] = map[int]uint64{}
			}
			s.partitionCPUs[i][c.partition] += on.Amounts[model.AmountCPUs]
		}
		for k, x := range on.Amounts {
			s.free[i][k] = saturating.Sub(s.free[i][k], x)
		}
	}
}

// isUp reports whether the node exists in the run.
func (s *simRun) isUp(i int) bool {
	n := &s.simNodes[i]
	if s.removed[i] || !s.withNew && !n.isReady() {
		return false
	}
	return n.newRank == 0 || n.newRank <= s.newWorkers[s.Shapes[n.shape].Pool]
}
