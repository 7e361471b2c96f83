package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// simulation follows slurmctld's rules for the queue of pools that share partitions, for a given
// number of workers.
type simulation struct {
	*planner
	poolIndexes []int
	nodeIndexes []int  // the indexes of the nodes in its partitions
	inGroup     []bool // by partition
	// MaxNew is how many new workers each pool can have, by pool index.
	maxNew      []uint64
	simNodes    []simNode
	attempts    []attempt
	hetAttempts [][]attempt
	// requiresNodes is whether a job requires nodes by name.
	requiresNodes bool
	// workLeft is how many more nodes can be evaluated.
	workLeft int
}

// attempt is slurmctld's attempt to start alike jobs in one of their partitions.
type attempt struct {
	request      *request
	record       *model.JobRecord
	partition    int
	listPosition int // index of the partition in the job's list
	tier         uint32
}

// maxWork limits the cost of the simulations of one Compute, in evaluated nodes. If a queue would cost more, its demand
// stays an estimate.
const maxWork = 400_000

// simulateQueues corrects the estimates of pools by the rules of slurmctld: it finds the fewest new
// workers that start every job which all possible workers would start.
func (p *planner) simulateQueues() {
	if len(p.Pools) == 0 || len(p.requests) == 0 {
		return
	}
	groups := p.groupPools()
	for i := range groups {
		h := &groups[i]
		h.workLeft = maxWork / len(groups)
		if h.prepare() {
			h.correctEstimate()
		}
	}
}

// groupPools returns a simulation for each set of pools that share partitions, directly or through
// jobs or nodes with several partitions.
func (p *planner) groupPools() (groups []simulation) {
	root := p.joinPartitions()
	groupOf := map[int]int{} // by the partition that represents the group
	for at := range p.Pools {
		if len(p.Pools[at].Partitions) == 0 {
			continue
		}
		r := root(p.Pools[at].Partitions[0])
		if _, ok := groupOf[r]; !ok {
			groupOf[r] = len(groups)
			groups = append(groups, simulation{planner: p})
		}
		h := &groups[groupOf[r]]
		h.poolIndexes = append(h.poolIndexes, at)
	}
	for i := range p.Nodes {
		parts := p.Shapes[p.Nodes[i].Shape].Partitions
		if len(parts) == 0 {
			continue
		}
		if g, ok := groupOf[root(parts[0])]; ok {
			groups[g].nodeIndexes = append(groups[g].nodeIndexes, i)
		}
	}
	return groups
}

// joinPartitions joins the partitions that share pools, jobs or nodes. root returns the partition
// that represents the group of a partition.
func (p *planner) joinPartitions() (root func(int) int) {
	joined := make([]int, len(p.Partitions))
	for i := range joined {
		joined[i] = i
	}
	root = func(i int) int {
		for joined[i] != i {
			i = joined[i]
		}
		return i
	}
	join := func(parts []int) {
		for _, i := range parts {
			a, b := root(parts[0]), root(i)
			joined[max(a, b)] = min(a, b)
		}
	}
	for at := range p.Pools {
		join(p.Pools[at].Partitions)
	}
	for i := range p.requests {
		join(p.requests[i].partitions)
	}
	for i := range p.Shapes {
		join(p.Shapes[i].Partitions)
	}
	return root
}

// prepare reports whether the queue of the pools can be simulated: jobs are pending, their requests
// and the shapes of new workers are known, and the cost is within the bound.
func (h *simulation) prepare() bool {
	h.inGroup = make([]bool, len(h.Partitions))
	h.maxNew = make([]uint64, len(h.planner.Pools))
	count := uint64(len(h.nodeIndexes))
	for _, at := range h.poolIndexes {
		p := &h.planner.Pools[at]
		if len(p.Shapes) != 1 || h.Shapes[p.Shapes[0]].OneJobPerNode || h.Shapes[p.Shapes[0]].Assumed {
			return false
		}
		for _, i := range p.Partitions {
			h.inGroup[i] = true
		}
		h.maxNew[at] = max(saturating.Add(saturating.Mul(p.Result.Pending, 2), 8), p.NamedWorkers)
		if p.Limited {
			h.maxNew[at] = p.MaxNew
		}
		count = saturating.Add(count, h.maxNew[at])
	}
	if saturating.Mul(count, h.countChoices()) > uint64(h.workLeft) || !h.addAttempts() {
		return false
	}
	h.addSimNodes()
	return true
}

// countChoices estimates how often a run selects nodes: once per attempt, and once per filled node
// or per job on several nodes.
func (h *simulation) countChoices() (count uint64) {
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inGroup[r.target] {
			continue
		}
		attempts := min(uint64(len(r.Records)), r.jobs) * uint64(len(r.partitions))
		fills := r.jobs
		if r.chunkCount() == 1 {
			fills = model.DivideUp(r.jobs, max(r.chunksPerEmptyNode, 1))
		}
		count = saturating.Add(count, max(attempts, fills))
	}
	return count
}

// addAttempts lists the jobs in the order in which slurmctld tries them: by the tier of the partition, by priority,
// then by job ID. It returns false when no job is pending.
func (h *simulation) addAttempts() bool {
	hets := map[uint32][]attempt{}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inGroup[r.target] {
			continue
		}
		h.requiresNodes = h.requiresNodes || len(r.RequiredNodes) > 0
		if r.Deviations&^(model.IsHeterogeneous|model.IsFederated) != 0 || !h.knowsNamedNodes(r) {
			return false
		}
		left := r.jobs
		for _, rec := range r.RecordsInOrder() {
			rec.Jobs = min(rec.Jobs, left)
			left -= rec.Jobs
			if rec.Jobs == 0 {
				break
			}
			for k, part := range r.partitions {
				if r.misfits[k] != model.MisfitNone {
					continue
				}
				t := attempt{request: r, record: rec, partition: part, listPosition: k, tier: h.Partitions[part].Tier}
				if r.HetJobID == 0 {
					h.attempts = append(h.attempts, t)
				} else {
					hets[r.HetJobID] = append(hets[r.HetJobID], t)
				}
			}
		}
	}
	slices.SortFunc(h.attempts, attempt.compare)
	for _, attempts := range hets {
		slices.SortFunc(attempts, attempt.compare)
		h.hetAttempts = append(h.hetAttempts, attempts)
	}
	slices.SortFunc(h.hetAttempts, func(a, b []attempt) int { return a[0].compare(b[0]) })
	return len(h.attempts)+len(h.hetAttempts) > 0
}

// knowsNamedNodes reports whether the nodes that the request names are existing or future nodes.
// The names of a pool's workers can be unknown.
func (h *simulation) knowsNamedNodes(r *request) bool {
	for _, name := range r.RequiredNodes {
		_, there := h.findNode(name)
		if !there && !slices.ContainsFunc(h.poolIndexes, func(at int) bool {
			_, ok := h.planner.Pools[at].Spec.OrdinalOf(name)
			return ok
		}) {
			return false
		}
	}
	return true
}

func (t attempt) compare(u attempt) int {
	return cmp.Or(
		cmp.Compare(u.tier, t.tier), cmp.Compare(u.record.Priority, t.record.Priority),
		cmp.Compare(t.record.ID, u.record.ID), cmp.Compare(t.listPosition, u.listPosition),
	)
}
