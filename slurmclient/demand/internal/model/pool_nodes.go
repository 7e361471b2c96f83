package model

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// PoolState is a Pool with its result.
type PoolState struct {
	Spec       Pool
	Result     PoolDemand
	Partitions []int // served by the pool, in order
	Shapes     []int // of new workers, in order
	Weight     uint32
	// NewLeft is how many more workers the pool can have while jobs are assigned to pools, if Limited.
	NewLeft uint64
	Limited bool
	// MaxNew is how many workers can be added to the existing ones. SimulatedNew is how many of
	// these the pool needs, if IsSimulated.
	MaxNew, SimulatedNew uint64
	IsSimulated          bool
	// KeepsAllFree is whether any of the idle and booting workers could be needed.
	KeepsAllFree bool
	// NamedWorkers is how many workers the pool needs to include the workers that jobs name. reservedNew is how many
	// future workers a reservation would keep from jobs.
	NamedWorkers, reservedNew uint64
	// scalingIn is how many unusable nodes were drained to be removed.
	scalingIn uint64
	// ClaimedIdle and ClaimedBooting split Claimed by the use of the nodes.
	ClaimedIdle, ClaimedBooting uint64
	UnsatisfiableByReason       map[string]Unsatisfiable
}

// NoPool is the pool index of nodes outside pools.
const NoPool = -1

// addPools adds the pools in the order of their names, so that the order of the input does not
// matter, and the partitions that their specs name.
func (c *Cluster) addPools(s *slurmclient.Snapshot, pools []Pool) {
	order := make([]int, len(pools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(pools[a].Name, pools[b].Name) })
	c.Pools, c.inputOrder = make([]PoolState, len(pools)), make([]int, len(pools))
	sorted := make([]Pool, len(pools))
	for at, from := range order {
		p := &c.Pools[at]
		p.Spec, p.Result.Name, sorted[at] = pools[from], pools[from].Name, pools[from]
		p.UnsatisfiableByReason = map[string]Unsatisfiable{}
		c.inputOrder[from] = at
		for _, name := range p.Spec.Partitions {
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
func (c *Cluster) addServedPartition(at int, partition string) {
	if i, ok := c.partitionByName[partition]; ok && !slices.Contains(c.Pools[at].Partitions, i) {
		c.Pools[at].Partitions = append(c.Pools[at].Partitions, i)
	}
}

// addPartitionOfExpression records the pools that slurm.conf's node expression of the partition
// includes.
func (c *Cluster) addPartitionOfExpression(p *slurm.Partition) {
	for item := range strings.SplitSeq(p.NodeSets, ",") {
		if strings.EqualFold(item, "ALL") {
			for at := range c.Pools {
				c.addServedPartition(at, p.Name)
			}
		}
		for at := range c.Pools {
			if c.Pools[at].Spec.hasFeature(item) {
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

// countInPool counts a node in its pool, and sets its FreeState.
func (c *Cluster) countInPool(m *NodeState, held, reserved bool, starts slurm.Time, now slurm.Time) {
	at := c.Shapes[m.Shape].Pool
	if at == NoPool {
		return
	}
	p := &c.Pools[at]
	u := m.Use
	if starts.IsSet() && starts.Sub(now) <= p.Spec.ReservationLead {
		u = useOf(m.Node, held, true)
	}
	switch u {
	case UseBusy:
		p.Result.Busy++
	case useIdle:
		p.Result.Idle++
		m.FreeState = FreeIdle
		if p.inGrace(m.Node, now) {
			p.Result.Grace++
		}
	case useBooting:
		p.Result.Booting++
		m.FreeState = FreeBooting
	case useUnusable:
		if hasNoPod(m.Node.Comment) {
			p.Result.Off++
			return
		}
		p.Result.Unusable++
		if m.Node.State.Has(slurm.NodeDrain) && slices.ContainsFunc(p.Spec.ScaleInReasons, matchesReason(m.Node.Reason)) {
			p.scalingIn++
		}
	case UseOff:
		p.Result.Off++
		if reserved {
			p.reservedNew++
		}
	}
}

// matchesReason returns a function that reports whether a text matches a pattern with at most one *.
func matchesReason(text string) func(pattern string) bool {
	return func(pattern string) bool {
		before, after, has := strings.Cut(pattern, "*")
		if !has {
			return text == pattern
		}
		return len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
	}
}

// inGrace reports whether a node has been idle for less than the grace: since its last job, or
// since its slurmd started. Without a grace no clock matters.
func (p *PoolState) inGrace(n *slurm.Node, now slurm.Time) bool {
	since := max(n.LastBusy, n.SlurmdStartTime)
	return p.Spec.IdleGrace > 0 && since.IsSet() && now.Sub(since) < p.Spec.IdleGrace
}

// FreeState is how a node counts when a pending job is about to take it.
type FreeState uint8

// The states of a free node.
const (
	NotFree FreeState = iota
	FreeIdle
	FreeBooting
	// FreeSoon is a node without room that jobs left a short time ago.
	FreeSoon
)

// addPoolShapes adds a shape for every pool that has a Shape or no record.
func (c *Cluster) addPoolShapes() {
	seen := make([]bool, len(c.Pools))
	for i := range c.Shapes {
		if at := c.Shapes[i].Pool; at != NoPool {
			seen[at] = true
			for _, part := range c.Shapes[i].Partitions {
				c.addServedPartition(at, c.Partitions[part].Name)
			}
		}
	}
	for at := range c.Pools {
		slices.Sort(c.Pools[at].Partitions)
		if c.Pools[at].Spec.Shape != nil || !seen[at] {
			c.Shapes = append(c.Shapes, c.shapeOfPool(at))
		}
	}
}

// shapeOfPool returns the shape of a new worker by the pool's Shape. Unknown properties do not
// exclude a job.
func (c *Cluster) shapeOfPool(at int) NodeShape {
	p := &c.Pools[at]
	s := NodeShape{
		// Names of other shapes begin with a digit.
		name: "pool " + p.Spec.Name, Pool: at, fromSpec: true, features: []string{p.Spec.Feature},
		tmpDisk: math.MaxUint64, Room: Amounts{math.MaxUint64, math.MaxUint64}, OneJobPerNode: true,
	}
	of := p.Spec.Shape
	if of == nil {
		s.Assumed, s.foreignFeatures = true, c.matcher.byFeature
		return s
	}
	s.Weight, s.GRES, s.Threads = of.Weight, of.GRES, of.ThreadsPerCore
	s.features = append(s.features, of.Features...)
	if of.CPUs > 0 {
		s.Room[AmountCPUs], s.OneJobPerNode = of.CPUs, false
	}
	if of.MemoryMiB > 0 {
		s.Room[AmountMemory] = of.MemoryMiB
	}
	if of.TmpDiskMiB > 0 {
		s.tmpDisk = of.TmpDiskMiB
	}
	return s
}

// NodeSource is where new nodes of a partition come from: a pool, or NoPool.
type NodeSource struct {
	Pool   int
	Shapes []int
}

// addSources lists where new nodes of each partition come from: its pools by weight, then by name,
// and last the kinds of existing nodes that differ from new workers.
func (c *Cluster) addSources() {
	for i := range c.Shapes {
		s := &c.Shapes[i]
		if s.Pool == NoPool {
			continue
		}
		if p := &c.Pools[s.Pool]; s.fromSpec || p.Spec.Shape == nil {
			if !slices.ContainsFunc(p.Shapes, func(k int) bool { return c.Shapes[k].equals(s) }) {
				p.Shapes = append(p.Shapes, i)
			}
			if w := max(1, s.Weight); p.Weight == 0 || w < p.Weight {
				p.Weight = w
			}
		}
	}
	for at := range c.Pools {
		for _, i := range c.Pools[at].Partitions {
			c.Partitions[i].Sources = append(c.Partitions[i].Sources, NodeSource{at, c.Pools[at].Shapes})
		}
	}
	for i := range c.Partitions {
		pt := &c.Partitions[i]
		slices.SortStableFunc(pt.Sources, func(a, b NodeSource) int {
			return cmp.Compare(c.Pools[a.Pool].Weight, c.Pools[b.Pool].Weight)
		})
		if len(pt.Shapes) > 0 || len(pt.Sources) == 0 {
			pt.Sources = append(pt.Sources, NodeSource{NoPool, pt.Shapes})
		}
	}
}
