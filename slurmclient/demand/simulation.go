package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
)

// simulation follows slurmctld's rules for the queue of pools that share partitions, for a given
// number of workers.
type simulation struct {
	*planner
	poolIndexes []int
	nodeIndexes []int  // the indexes of the nodes in its partitions
	inGroup     []bool // by partition
	// maxNew is how many new workers each pool can have, by pool index.
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
	record       *jobRecord
	partition    int
	listPosition int // index of the partition in the job's list
	tier         uint32
}

// jobRecord is one job record: a job, or the tasks of an array.
type jobRecord struct {
	id             uint32
	priority, jobs uint64
	// plannedNodes is the hostlist on which backfill plans to start the record's next job, if the
	// job requires nodes by name.
	plannedNodes string
}

// maxWork bounds the cost of the simulations of one Compute, in evaluated nodes. The demand of a
// queue that would cost more stays an estimate.
const maxWork = 400_000

// simulateQueues corrects the estimates of pools by the rules of slurmctld: it finds the fewest new
// workers that start every job which all possible workers would start.
func (p *planner) simulateQueues() {
	if len(p.pools) == 0 || len(p.requests) == 0 {
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
	for at := range p.pools {
		if len(p.pools[at].partitions) == 0 {
			continue
		}
		r := root(p.pools[at].partitions[0])
		if _, ok := groupOf[r]; !ok {
			groupOf[r] = len(groups)
			groups = append(groups, simulation{planner: p})
		}
		h := &groups[groupOf[r]]
		h.poolIndexes = append(h.poolIndexes, at)
	}
	for i := range p.nodes {
		parts := p.shapes[p.nodes[i].shape].partitions
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
	joined := make([]int, len(p.partitions))
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
	for at := range p.pools {
		join(p.pools[at].partitions)
	}
	for i := range p.requests {
		join(p.requests[i].partitions)
	}
	for i := range p.shapes {
		join(p.shapes[i].partitions)
	}
	return root
}

// prepare reports whether the queue of the pools can be simulated: jobs are pending, their requests
// and the shapes of new workers are known, and the cost is within the bound.
func (h *simulation) prepare() bool {
	h.inGroup = make([]bool, len(h.partitions))
	h.maxNew = make([]uint64, len(h.planner.pools))
	count := uint64(len(h.nodeIndexes))
	for _, at := range h.poolIndexes {
		p := &h.planner.pools[at]
		if len(p.shapes) != 1 || h.shapes[p.shapes[0]].oneJobPerNode || h.shapes[p.shapes[0]].assumed {
			return false
		}
		for _, i := range p.partitions {
			h.inGroup[i] = true
		}
		h.maxNew[at] = max(saturating.Add(saturating.Mul(p.result.Pending, 2), 8), p.namedWorkers)
		if p.limited {
			h.maxNew[at] = p.maxNew
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
		attempts := min(uint64(len(r.records)), r.jobs) * uint64(len(r.partitions))
		fills := r.jobs
		if r.chunkCount() == 1 {
			fills = divideUp(r.jobs, max(r.chunksPerEmptyNode, 1))
		}
		count = saturating.Add(count, max(attempts, fills))
	}
	return count
}

// addAttempts lists what slurmctld attempts, in its order: by the tier of the partition, by
// priority, then by job ID. It returns false when nothing is pending.
func (h *simulation) addAttempts() bool {
	hets := map[uint32][]attempt{}
	for i := range h.requests {
		r := &h.requests[i]
		if r.target < 0 || r.jobs == 0 || !h.inGroup[r.target] {
			continue
		}
		h.requiresNodes = h.requiresNodes || len(r.requiredNodes) > 0
		if r.deviations&^(isHeterogeneous|isFederated) != 0 || !h.knowsNamedNodes(r) {
			return false
		}
		left := r.jobs
		for _, rec := range r.recordsInOrder() {
			rec.jobs = min(rec.jobs, left)
			left -= rec.jobs
			if rec.jobs == 0 {
				break
			}
			for k, part := range r.partitions {
				if r.misfits[k] != misfitNone {
					continue
				}
				t := attempt{request: r, record: rec, partition: part, listPosition: k, tier: h.partitions[part].tier}
				if r.hetJobID == 0 {
					h.attempts = append(h.attempts, t)
				} else {
					hets[r.hetJobID] = append(hets[r.hetJobID], t)
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
	for _, name := range r.requiredNodes {
		_, there := h.findNode(name)
		if !there && !slices.ContainsFunc(h.poolIndexes, func(at int) bool {
			_, ok := h.planner.pools[at].spec.ordinalOf(name)
			return ok
		}) {
			return false
		}
	}
	return true
}

func (t attempt) compare(u attempt) int {
	return cmp.Or(
		cmp.Compare(u.tier, t.tier), cmp.Compare(u.record.priority, t.record.priority),
		cmp.Compare(t.record.id, u.record.id), cmp.Compare(t.listPosition, u.listPosition),
	)
}

// recordsInOrder returns copies of the group's records in the order in which they start.
func (g *jobGroup) recordsInOrder() []*jobRecord {
	out := make([]*jobRecord, len(g.records))
	for i := range g.records {
		rec := g.records[i]
		out[i] = &rec
	}
	slices.SortFunc(out, func(a, b *jobRecord) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.id, b.id))
	})
	return out
}
