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
	spec       Pool
	result     PoolDemand
	partitions []int // served by the pool, in order
	shapes     []int // of new workers, in order
	weight     uint32
	// newLeft is how many more workers the pool can have while jobs are assigned to pools, if
	// limited.
	newLeft uint64
	limited bool
	// maxNew is how many workers can be added to the existing ones. simulatedNew is how many of
	// these the pool needs, if isSimulated.
	maxNew, simulatedNew uint64
	isSimulated          bool
	// keepsAllFree is whether any of the idle and booting workers could be needed.
	keepsAllFree bool
	// full is whether the pool has no room left even on the workers that it can add.
	full bool
	// namedWorkers is how many workers the pool needs to include those that jobs name. reservedNew
	// is how many future workers a reservation would keep from jobs.
	namedWorkers, reservedNew uint64
	// scalingIn is how many unusable nodes were drained to be removed.
	scalingIn uint64
	// claimedIdle and claimedBooting split Claimed by the use of the nodes.
	claimedIdle, claimedBooting uint64
	unsatisfiable               map[string]Unsatisfiable
}

// noPool is the pool index of nodes outside pools.
const noPool = -1

// addPools adds the pools in the order of their names, so that the order of the input does not
// matter, and the partitions that their specs name.
func (c *cluster) addPools(s *slurmclient.Snapshot, pools []Pool) {
	order := make([]int, len(pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(pools[a].Name, pools[b].Name) })
	c.pools, c.inputOrder = make([]pool, len(pools)), make([]int, len(pools))
	sorted := make([]Pool, len(pools))
	for at, from := range order {
		p := &c.pools[at]
		p.spec, p.result.Name, sorted[at] = pools[from], pools[from].Name, pools[from]
		p.unsatisfiable = map[string]Unsatisfiable{}
		c.inputOrder[from] = at
		for _, name := range p.spec.Partitions {
			c.addServedPartition(at, name)
		}
	}
	c.matcher = newPoolMatcher(sorted)
	if len(pools) == 0 {
		return
	}
	for _, p := range s.Partitions.Value {
		c.addPartitionOfExpression(p)
	}
}

// addServedPartition records that the pool's nodes are in the partition.
func (c *cluster) addServedPartition(at int, partition string) {
	if i, ok := c.partitionByName[partition]; ok && !slices.Contains(c.pools[at].partitions, i) {
		c.pools[at].partitions = append(c.pools[at].partitions, i)
	}
}

// addPartitionOfExpression records the pools that slurm.conf's node expression of the partition
// includes.
func (c *cluster) addPartitionOfExpression(p *slurm.Partition) {
	for item := range strings.SplitSeq(p.NodeSets, ",") {
		if strings.EqualFold(item, "ALL") {
			for at := range c.pools {
				c.addServedPartition(at, p.Name)
			}
		}
		for at := range c.pools {
			if c.pools[at].spec.hasFeature(item) {
				c.addServedPartition(at, p.Name)
			}
		}
	}
}

// hasFeature reports whether workers of the pool have the feature.
func (p *Pool) hasFeature(feature string) bool {
	if feature == "" {
		return false
	}
	return p.Feature == feature || p.Shape != nil && slices.Contains(p.Shape.Features, feature)
}

// countInPool counts a node in its pool, and sets its freeState.
func (c *cluster) countInPool(m *nodeInfo, held, reserved bool, starts slurm.Time, now slurm.Time) {
	at := c.shapes[m.shape].pool
	if at == noPool {
		return
	}
	p := &c.pools[at]
	u := m.use
	if starts.IsSet() && starts.Sub(now) <= p.spec.ReservationLead {
		u = useOf(m.node, held, true)
	}
	switch u {
	case useBusy:
		p.result.Busy++
	case useIdle:
		p.result.Idle++
		m.freeState = freeIdle
		if p.inGrace(m.node, now) {
			p.result.Grace++
		}
	case useBooting:
		p.result.Booting++
		m.freeState = freeBooting
	case useUnusable:
		p.result.Unusable++
		if p.spec.ScaleInReason != "" && m.node.State.Has(slurm.NodeDrain) && m.node.Reason == p.spec.ScaleInReason {
			p.scalingIn++
		}
	case useOff:
		p.result.Off++
		if reserved {
			p.reservedNew++
		}
	}
}

// inGrace reports whether a node has been idle for less than the grace: since its last job, or
// since its slurmd started. Without a grace no clock matters.
func (p *pool) inGrace(n *slurm.Node, now slurm.Time) bool {
	since := max(n.LastBusy, n.SlurmdStartTime)
	return p.spec.IdleGrace > 0 && since.IsSet() && now.Sub(since) < p.spec.IdleGrace
}

// freeState is how a node counts when a pending job is about to take it.
type freeState uint8

const (
	notFree freeState = iota
	freeIdle
	freeBooting
)

// addPoolShapes adds a shape for every pool that has a Shape or no record.
func (c *cluster) addPoolShapes() {
	seen := make([]bool, len(c.pools))
	for i := range c.shapes {
		if at := c.shapes[i].pool; at != noPool {
			seen[at] = true
			for _, part := range c.shapes[i].partitions {
				c.addServedPartition(at, c.partitions[part].Name)
			}
		}
	}
	for at := range c.pools {
		slices.Sort(c.pools[at].partitions)
		if c.pools[at].spec.Shape != nil || !seen[at] {
			c.shapes = append(c.shapes, c.shapeOfPool(at))
		}
	}
}

// shapeOfPool returns the shape of a new worker by the pool's Shape. Unknown properties do not
// exclude a job.
func (c *cluster) shapeOfPool(at int) shape {
	p := &c.pools[at]
	s := shape{
		// Names of other shapes begin with a digit.
		name: "pool " + p.spec.Name, pool: at, fromSpec: true, features: []string{p.spec.Feature},
		tmpDisk: math.MaxUint64, room: amounts{math.MaxUint64, math.MaxUint64}, oneJobPerNode: true,
	}
	of := p.spec.Shape
	if of == nil {
		s.assumed, s.foreignFeatures = true, c.matcher.byFeature
		return s
	}
	s.weight, s.gres, s.threads = of.Weight, of.GRES, of.ThreadsPerCore
	s.features = append(s.features, of.Features...)
	if of.CPUs > 0 {
		s.room[amountCPUs], s.oneJobPerNode = of.CPUs, false
	}
	if of.MemoryMiB > 0 {
		s.room[amountMemory] = of.MemoryMiB
	}
	if of.TmpDiskMiB > 0 {
		s.tmpDisk = of.TmpDiskMiB
	}
	return s
}

// nodeSource is where new nodes of a partition come from: a pool, or noPool.
type nodeSource struct {
	pool   int
	shapes []int
}

// addSources lists where new nodes of each partition come from: its pools by weight, then by name,
// and last the kinds of existing nodes that differ from new workers.
func (c *cluster) addSources() {
	for i := range c.shapes {
		s := &c.shapes[i]
		if s.pool == noPool {
			continue
		}
		if p := &c.pools[s.pool]; s.fromSpec || p.spec.Shape == nil {
			if !slices.ContainsFunc(p.shapes, func(k int) bool { return c.shapes[k].equals(s) }) {
				p.shapes = append(p.shapes, i)
			}
			if w := max(1, s.weight); p.weight == 0 || w < p.weight {
				p.weight = w
			}
		}
	}
	for at := range c.pools {
		for _, i := range c.pools[at].partitions {
			c.partitions[i].sources = append(c.partitions[i].sources, nodeSource{at, c.pools[at].shapes})
		}
	}
	for i := range c.partitions {
		pt := &c.partitions[i]
		slices.SortStableFunc(pt.sources, func(a, b nodeSource) int {
			return cmp.Compare(c.pools[a.pool].weight, c.pools[b.pool].weight)
		})
		if len(pt.shapes) > 0 || len(pt.sources) == 0 {
			pt.sources = append(pt.sources, nodeSource{noPool, pt.shapes})
		}
	}
}
