package demand

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// pool is a Pool with its result.
type pool struct {
	offer  Pool
	result PoolDemand
	parts  []int // that it serves, in order
	shapes []int // of new workers, in order
	weight uint32
	// left is how many more workers the pool may have, if it is limited, while the
	// jobs are dealt to the pools.
	left    uint64
	limited bool
	// spare is how many workers more than are there the pool may have, fresh how many of
	// these it needs where that was rehearsed.
	spare, fresh uint64
	rehearsed    bool
	// keepsAll is whether any of the idle and booting workers may be needed.
	keepsAll bool
	// full is whether there is not even room left on those that it may have.
	full bool
	// named is how many workers there must be for those that jobs name to be among them,
	// reserved how many of those to come a reservation would keep from jobs.
	named, reserved uint64
	// leaving is how many of the unusable nodes were drained to take them out of service.
	leaving uint64
	// claimedIdle and claimedBooting are Claimed by what the nodes are doing.
	claimedIdle, claimedBooting uint64
	unsatisfiable               map[string]Unsatisfiable
}

// noPool is the place of what is of no pool.
const noPool = -1

// addPools takes the pools in by name, so that the order of the input is of no
// consequence, and tells which partitions they serve by what is said of them.
func (c *cluster) addPools(s *slurmclient.Snapshot, pools []Pool) {
	order := make([]int, len(pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(pools[a].Name, pools[b].Name) })
	c.pools, c.given = make([]pool, len(pools)), make([]int, len(pools))
	sorted := make([]Pool, len(pools))
	for at, from := range order {
		p := &c.pools[at]
		p.offer, p.result.Name, sorted[at] = pools[from], pools[from].Name, pools[from]
		p.unsatisfiable = map[string]Unsatisfiable{}
		c.given[from] = at
		for _, name := range p.offer.Partitions {
			c.serve(at, name)
		}
	}
	c.owners = newOwners(sorted)
	if len(pools) == 0 {
		return
	}
	for _, p := range s.Partitions.Value {
		c.serveExpression(p)
	}
}

// serve notes that the pool's nodes are in the partition.
func (c *cluster) serve(at int, partition string) {
	if i, ok := c.byName[partition]; ok && !slices.Contains(c.pools[at].parts, i) {
		c.pools[at].parts = append(c.pools[at].parts, i)
	}
}

// serveExpression looks for pools in what slurm.conf says of the partition's nodes.
func (c *cluster) serveExpression(p *slurm.Partition) {
	for item := range strings.SplitSeq(p.NodeSets, ",") {
		if strings.EqualFold(item, "ALL") {
			for at := range c.pools {
				c.serve(at, p.Name)
			}
		}
		for at := range c.pools {
			if c.pools[at].offer.gives(item) {
				c.serve(at, p.Name)
			}
		}
	}
}

// gives reports whether workers of the pool have the feature.
func (p *Pool) gives(feature string) bool {
	if feature == "" {
		return false
	}
	return p.Feature == feature || p.Shape != nil && slices.Contains(p.Shape.Features, feature)
}

// countInPool counts a node in its pool, and tells which of the pool's idle or
// booting nodes it is, if it is one.
func (c *cluster) countInPool(m *member, held, reserved bool, starts slurm.Time, now slurm.Time) {
	at := c.shapes[m.shape].pool
	if at == noPool {
		return
	}
	p := &c.pools[at]
	u := m.use
	if starts.IsSet() && starts.Sub(now) <= p.offer.Lead {
		u = useOf(m.node, held, true)
	}
	switch u {
	case useBusy:
		p.result.Busy++
	case useIdle:
		p.result.Idle++
		m.claim = claimIdle
		if p.inGrace(m.node, now) {
			p.result.Grace++
		}
	case useBooting:
		p.result.Booting++
		m.claim = claimBooting
	case useUnusable:
		p.result.Unusable++
		if p.offer.LeavingReason != "" && m.node.State.Has(slurm.NodeDrain) && m.node.Reason == p.offer.LeavingReason {
			p.leaving++
		}
	case useOff:
		p.result.Off++
		if reserved {
			p.reserved++
		}
	}
}

// inGrace reports whether an idle node has been so for less than the grace: since
// its last job, or since its slurmd started. Where there is no grace no clock counts.
func (p *pool) inGrace(n *slurm.Node, now slurm.Time) bool {
	since := max(n.LastBusy, n.SlurmdStartTime)
	return p.offer.IdleGrace > 0 && since.IsSet() && now.Sub(since) < p.offer.IdleGrace
}

// claim is what a node counts as when a pending job is about to take it.
type claim uint8

const (
	claimNone claim = iota
	claimIdle
	claimBooting
)

// addPoolShapes gives every pool whose shape is told, or of which there is no
// record, a shape of its own.
func (c *cluster) addPoolShapes() {
	seen := make([]bool, len(c.pools))
	for i := range c.shapes {
		if at := c.shapes[i].pool; at != noPool {
			seen[at] = true
			for _, part := range c.shapes[i].parts {
				c.serve(at, c.parts[part].Name)
			}
		}
	}
	for at := range c.pools {
		slices.Sort(c.pools[at].parts)
		if c.pools[at].offer.Shape != nil || !seen[at] {
			c.shapes = append(c.shapes, c.shapeOfPool(at))
		}
	}
}

// shapeOfPool is what a new worker is by what is said of it. What is not known of
// it does not keep a job away.
func (c *cluster) shapeOfPool(at int) shape {
	p := &c.pools[at]
	s := shape{
		// Names of shapes of nodes begin with a number.
		name: "pool " + p.offer.Name, pool: at, told: true, features: []string{p.offer.Feature},
		tmpDisk: math.MaxUint64, room: amounts{math.MaxUint64, math.MaxUint64}, single: true,
	}
	of := p.offer.Shape
	if of == nil {
		s.trusted, s.foreign = true, c.owners.byFeature
		return s
	}
	s.weight, s.gres, s.threads = of.Weight, of.GRES, of.ThreadsPerCore
	s.features = append(s.features, of.Features...)
	if of.CPUs > 0 {
		s.room[amountCPUs], s.single = of.CPUs, false
	}
	if of.MemoryMiB > 0 {
		s.room[amountMemory] = of.MemoryMiB
	}
	if of.TmpDiskMiB > 0 {
		s.tmpDisk = of.TmpDiskMiB
	}
	return s
}

// source is where a partition's new nodes come from: a pool, or noPool.
type source struct {
	pool   int
	shapes []int
}

// addSources tells the partitions where new nodes come from: their pools by weight,
// then by name, and last the kinds of nodes that are there and not like those.
func (c *cluster) addSources() {
	for i := range c.shapes {
		s := &c.shapes[i]
		if s.pool == noPool {
			continue
		}
		if p := &c.pools[s.pool]; s.told || p.offer.Shape == nil {
			if !slices.ContainsFunc(p.shapes, func(k int) bool { return c.shapes[k].offers(s) }) {
				p.shapes = append(p.shapes, i)
			}
			if w := max(1, s.weight); p.weight == 0 || w < p.weight {
				p.weight = w
			}
		}
	}
	for at := range c.pools {
		for _, i := range c.pools[at].parts {
			c.parts[i].sources = append(c.parts[i].sources, source{at, c.pools[at].shapes})
		}
	}
	for i := range c.parts {
		pt := &c.parts[i]
		slices.SortStableFunc(pt.sources, func(a, b source) int {
			return cmp.Compare(c.pools[a.pool].weight, c.pools[b.pool].weight)
		})
		if len(pt.shapes) > 0 || len(pt.sources) == 0 {
			pt.sources = append(pt.sources, source{noPool, pt.shapes})
		}
	}
}
