// Package model is demand's model of a cluster: nodes, partitions and pools, the queue and the limits, and the requirements of each job. It
// decides nothing about new nodes.
package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Cluster is the nodes, partitions and pools that jobs can run on.
type Cluster struct {
	Partitions      []PartitionState // sorted by name
	partitionByName map[string]int
	partitionLists  map[string][]int // the partitions of a job's list, by its text
	Shapes          []NodeShape      // in a fixed order once all nodes are added
	shapeByName     map[string]int
	Nodes           []NodeState
	Pools           []PoolState // sorted by name
	inputOrder      []int       // indexes in pools, in the order of the input
	matcher         poolMatcher
	// limitsCPUs is whether a partition limits the CPUs per node. runningCPUs then has the CPUs that the jobs of each partition have on each
	// node, by node name.
	limitsCPUs  bool
	runningCPUs map[string]map[int]uint64
}

// PartitionState is a partition with its result.
type PartitionState struct {
	Partition
	// Open is whether the partition starts queued jobs.
	Open bool
	// MaxNodes is the maximum number of nodes of a job. MaxCPUs is the maximum number of CPUs that jobs of the partition can have on one node.
	// 0 is no maximum.
	MaxNodes, MaxCPUs uint64
	// Shared is whether jobs can share cores. nextReservation is the start of the first future reservation of some of its nodes, or 0.
	Shared          bool
	nextReservation slurm.Time
	// Tier is PriorityTier of the partition: jobs in partitions of a higher tier come first.
	Tier uint32
	// PendingOutsidePools is the part of PendingNodes that belongs to no pool.
	PendingOutsidePools uint64
	// totalNodes is how many node records slurmctld counts in the partition, including FUTURE ones.
	totalNodes uint64
	// Shapes are the shapes of the nodes that differ from new workers of a pool, and OtherNodes counts these nodes. NodesOutsidePools counts
	// the usable nodes outside all pools. Sources are the sources of new nodes.
	Shapes                        []int
	OtherNodes, NodesOutsidePools uint64
	Sources                       []NodeSource
	byReason                      map[ReasonCount]uint64
	UnsatisfiableByReason         map[string]Unsatisfiable
}

// NodeState is a node and its use.
type NodeState struct {
	Node      *slurm.Node
	Shape     int
	Use       nodeUse
	FreeState FreeState
	// HasRoom is whether a job could start on the node.
	HasRoom bool
	// BeforeWork is the node as it was when jobs were read, if it got work since; nil if the node is unchanged. Pending jobs of that list may
	// be the jobs that now run on the node.
	BeforeWork *slurm.Node
	// AfterEnds replaces the record for pending jobs on a node without room that jobs left a short time ago; nil if they make no room.
	AfterEnds *slurm.Node
}

// NewCluster returns the partitions and pools of a snapshot, without nodes.
func NewCluster(s *slurmclient.Snapshot, pools []Pool) *Cluster {
	c := &Cluster{
		partitionByName: map[string]int{}, partitionLists: map[string][]int{}, shapeByName: map[string]int{},
		runningCPUs: map[string]map[int]uint64{},
		Nodes:       make([]NodeState, 0, len(s.Nodes.Value)),
	}
	for _, p := range s.Partitions.Value {
		c.Partitions = append(c.Partitions, PartitionState{
			Partition:             Partition{Name: p.Name},
			Open:                  p.State != slurm.PartitionDown && p.State != slurm.PartitionInactive,
			MaxNodes:              p.MaxNodes.Or(0),
			totalNodes:            uint64(p.TotalNodes),
			MaxCPUs:               p.MaxCPUsPerNode.Or(0),
			Shared:                p.OversubscribeJobs > 1,
			Tier:                  p.PriorityTier,
			byReason:              map[ReasonCount]uint64{},
			UnsatisfiableByReason: map[string]Unsatisfiable{},
		})
		c.limitsCPUs = c.limitsCPUs || p.MaxCPUsPerNode.Or(0) > 0
	}
	slices.SortFunc(c.Partitions, func(a, b PartitionState) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.Partitions {
		c.partitionByName[c.Partitions[i].Name] = i
	}
	c.addPools(s, pools)
	return c
}

// PartitionsOf returns the partitions of a list such as "a,b", in its order. It omits partitions that the snapshot does not have. Callers
// do not write to the result.
func (c *Cluster) PartitionsOf(list string) []int {
	if known, ok := c.partitionLists[list]; ok {
		return known
	}
	var out []int
	for name := range strings.SplitSeq(list, ",") {
		if i, ok := c.partitionByName[name]; ok && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	c.partitionLists[list] = out
	return out
}

// AddNodes counts every node in its partitions and its pool.
func (c *Cluster) AddNodes(s *slurmclient.Snapshot, now slurm.Time, q *queue) {
	held := ExpandHostlists(q.holdingNodes)
	known := ExpandHostlists(q.startedNodes)
	reserved := ExpandHostlists(reservedNodes(s, now))
	starts := c.reservationStarts(s, now)
	left := leftNodesByName(now, s.Jobs.Value)
	var last *slurm.Node
	at, pool := -1, NoPool
	for _, n := range s.Nodes.Value {
		owner := c.matcher.poolOf(n)
		if last == nil || owner != pool || !sameShape(last, n) {
			at = c.shapeOf(n, owner)
		}
		last, pool = n, owner
		m := NodeState{Node: n, Shape: at, Use: useOf(n, held[n.Name], reserved[n.Name])}
		m.HasRoom = hasRoom(n, m.Use, reserved[n.Name])
		if e, ok := s.BusySinceJobs[n.Name]; ok && m.Use == UseBusy && !known[n.Name] && !reserved[n.Name] {
			m.BeforeWork, m.HasRoom = nodeBeforeWork(e.Before), true
		} else if m.Use == UseBusy && !m.HasRoom && !held[n.Name] {
			m.AfterEnds = c.Shapes[at].recordAfterEnds(n, left[n.Name], reserved[n.Name])
			m.HasRoom = m.AfterEnds != nil
		}
		c.countInPool(&m, held[n.Name], reserved[n.Name], starts[n.Name], now)
		c.Nodes = append(c.Nodes, m)
		for _, i := range c.Shapes[at].Partitions {
			c.countNode(&c.Partitions[i], m.Use, c.Shapes[at].Pool)
		}
		// A FUTURE record announces a node, but does not describe an existing one.
		c.Shapes[at].observed = c.Shapes[at].observed || n.State.Base != slurm.NodeFuture
		delete(reserved, n.Name)
	}
	c.countReservedWorkers(reserved)
	c.addPoolShapes()
	c.sortShapes()
	c.addSources()
}

// countReservedWorkers counts the future workers that have no record and are in a reservation.
func (c *Cluster) countReservedWorkers(reserved map[string]bool) {
	for name := range reserved {
		for at := range c.Pools {
			p := &c.Pools[at]
			if ordinal, ok := p.Spec.OrdinalOf(name); ok && ordinal < p.Spec.Max {
				p.reservedNew++
			}
		}
	}
}

// describesNoNewWorkers reports whether nodes of the pool do not describe new workers: nodes of
// no pool, and nodes of a pool with its own Shape.
func (c *Cluster) describesNoNewWorkers(pool int) bool {
	return pool == NoPool || c.Pools[pool].Spec.Shape != nil
}

// countNode counts a node of the pool in a partition.
func (c *Cluster) countNode(pt *PartitionState, u nodeUse, pool int) {
	u.countIn(&pt.Partition)
	if c.describesNoNewWorkers(pool) {
		pt.OtherNodes++
	}
	if pool == NoPool && u.Usable() {
		pt.NodesOutsidePools++
	}
}

// sortShapes sorts the shapes so that the order of the nodes does not matter, and lists the shapes
// of each partition.
func (c *Cluster) sortShapes() {
	order := make([]int, len(c.Shapes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Shapes[a].name, c.Shapes[b].name) })
	place := make([]int, len(order))
	sorted := make([]NodeShape, len(order))
	for to, from := range order {
		place[from], sorted[to] = to, c.Shapes[from]
	}
	c.Shapes = sorted
	for i := range c.Nodes {
		c.Nodes[i].Shape = place[c.Nodes[i].Shape]
	}
	for i, sh := range c.Shapes {
		for _, p := range sh.Partitions {
			if sh.observed && c.describesNoNewWorkers(sh.Pool) {
				c.Partitions[p].Shapes = append(c.Partitions[p].Shapes, i)
			}
		}
	}
}

// PartitionResults returns the results of all partitions.
func (c *Cluster) PartitionResults() []Partition {
	out := make([]Partition, len(c.Partitions))
	for i := range c.Partitions {
		p := &c.Partitions[i]
		p.RequiredNodes = p.BusyNodes + p.PendingNodes
		for rc, jobs := range p.byReason {
			rc.Jobs = jobs
			p.PendingByReason = append(p.PendingByReason, rc)
		}
		slices.SortFunc(p.PendingByReason, func(a, b ReasonCount) int {
			return cmp.Or(strings.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class))
		})
		p.Unsatisfiable = sortUnsatisfiable(p.UnsatisfiableByReason)
		out[i] = p.Partition
	}
	return out
}
