package demand

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// cluster is the nodes, partitions and pools that jobs can run on.
type cluster struct {
	partitions      []partition // sorted by name
	partitionByName map[string]int
	partitionLists  map[string][]int // the partitions of a job's list, by its text
	shapes          []shape          // in a fixed order once all nodes are added
	shapeByName     map[string]int
	nodes           []nodeInfo
	pools           []pool // sorted by name
	inputOrder      []int  // indexes in pools, in the order of the input
	matcher         poolMatcher
	// limitsCPUs is whether a partition limits the CPUs per node. Where one does, runningCPUs has
	// the CPUs that the jobs of each partition have on each node, by node name.
	limitsCPUs  bool
	runningCPUs map[string]map[int]uint64
}

// partition is a partition with its result.
type partition struct {
	Partition
	// open is whether the partition starts queued jobs.
	open bool
	// maxNodes is the maximum number of nodes of a job, maxCPUs the maximum number of CPUs that
	// jobs of the partition can have on one node; 0 for any.
	maxNodes, maxCPUs uint64
	// shared is whether jobs can share cores. nextReservation is when the first future reservation
	// of some of its nodes starts; 0 for none.
	shared          bool
	nextReservation slurm.Time
	// tier is PriorityTier of the partition: jobs in partitions of a higher tier come first.
	tier uint32
	// pendingOutsidePools is the part of PendingNodes that belongs to no pool.
	pendingOutsidePools uint64
	// totalNodes is how many node records slurmctld counts in the partition, including FUTURE ones.
	totalNodes uint64
	// shapes are the shapes of the nodes that are not like new workers of a pool, and otherNodes
	// counts these nodes. nodesOutsidePools counts the usable nodes of no pool. sources are where
	// new nodes come from.
	shapes                        []int
	otherNodes, nodesOutsidePools uint64
	sources                       []nodeSource
	byReason                      map[ReasonCount]uint64
	unsatisfiable                 map[string]Unsatisfiable
}

// nodeInfo is a node and its use.
type nodeInfo struct {
	node      *slurm.Node
	shape     int
	use       nodeUse
	freeState freeState
	// hasRoom is whether a job could start on the node.
	hasRoom bool
	// beforeWork is the node as it was when jobs were read, if it got work since: pending jobs of
	// that list can be the jobs that it runs. nil if the node is unchanged.
	beforeWork *slurm.Node
}

func newCluster(s *slurmclient.Snapshot, pools []Pool) *cluster {
	c := &cluster{
		partitionByName: map[string]int{}, partitionLists: map[string][]int{}, shapeByName: map[string]int{},
		runningCPUs: map[string]map[int]uint64{},
		nodes:       make([]nodeInfo, 0, len(s.Nodes.Value)),
	}
	for _, p := range s.Partitions.Value {
		c.partitions = append(c.partitions, partition{
			Partition:     Partition{Name: p.Name},
			open:          p.State != slurm.PartitionDown && p.State != slurm.PartitionInactive,
			maxNodes:      p.MaxNodes.Or(0),
			totalNodes:    uint64(p.TotalNodes),
			maxCPUs:       p.MaxCPUsPerNode.Or(0),
			shared:        p.OversubscribeJobs > 1,
			tier:          p.PriorityTier,
			byReason:      map[ReasonCount]uint64{},
			unsatisfiable: map[string]Unsatisfiable{},
		})
		c.limitsCPUs = c.limitsCPUs || p.MaxCPUsPerNode.Or(0) > 0
	}
	slices.SortFunc(c.partitions, func(a, b partition) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.partitions {
		c.partitionByName[c.partitions[i].Name] = i
	}
	c.addPools(s, pools)
	return c
}

// partitionsOf returns the partitions of a list such as "a,b", in its order, without those that the
// snapshot does not have. Callers do not write to the result.
func (c *cluster) partitionsOf(list string) []int {
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

// addNodes counts every node in its partitions and its pool.
func (c *cluster) addNodes(s *slurmclient.Snapshot, now slurm.Time, q *queue) {
	held := expandHostlists(q.holdingNodes)
	known := expandHostlists(q.startedNodes)
	reserved := expandHostlists(reservedNodes(s, now))
	starts := c.reservationStarts(s, now)
	var last *slurm.Node
	at, pool := -1, noPool
	for _, n := range s.Nodes.Value {
		owner := c.matcher.poolOf(n)
		if last == nil || owner != pool || !sameShape(last, n) {
			at = c.shapeOf(n, owner)
		}
		last, pool = n, owner
		m := nodeInfo{node: n, shape: at, use: useOf(n, held[n.Name], reserved[n.Name])}
		m.hasRoom = hasRoom(n, m.use, reserved[n.Name])
		if e, ok := s.BusySinceJobs[n.Name]; ok && m.use == useBusy && !known[n.Name] && !reserved[n.Name] {
			m.beforeWork, m.hasRoom = nodeBeforeWork(e.Before), true
		}
		c.countInPool(&m, held[n.Name], reserved[n.Name], starts[n.Name], now)
		c.nodes = append(c.nodes, m)
		for _, i := range c.shapes[at].partitions {
			c.countNode(&c.partitions[i], m.use, c.shapes[at].pool)
		}
		// A FUTURE record announces a node, but does not describe an existing one.
		c.shapes[at].observed = c.shapes[at].observed || n.State.Base != slurm.NodeFuture
		delete(reserved, n.Name)
	}
	c.countReservedWorkers(reserved)
	c.addPoolShapes()
	c.sortShapes()
	c.addSources()
}

// countReservedWorkers counts the future workers that have no record and are in a reservation.
func (c *cluster) countReservedWorkers(reserved map[string]bool) {
	for name := range reserved {
		for at := range c.pools {
			p := &c.pools[at]
			if ordinal, ok := p.spec.ordinalOf(name); ok && ordinal < p.spec.Max {
				p.reservedNew++
			}
		}
	}
}

// describesNoNewWorkers reports whether nodes of the pool do not describe new workers: nodes of
// no pool, and nodes of a pool with its own Shape.
func (c *cluster) describesNoNewWorkers(pool int) bool {
	return pool == noPool || c.pools[pool].spec.Shape != nil
}

// countNode counts a node of the pool in a partition.
func (c *cluster) countNode(pt *partition, u nodeUse, pool int) {
	u.countIn(&pt.Partition)
	if c.describesNoNewWorkers(pool) {
		pt.otherNodes++
	}
	if pool == noPool && u.usable() {
		pt.nodesOutsidePools++
	}
}

// sortShapes sorts the shapes so that the order of the nodes does not matter, and lists the shapes
// of each partition.
func (c *cluster) sortShapes() {
	order := make([]int, len(c.shapes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.shapes[a].name, c.shapes[b].name) })
	place := make([]int, len(order))
	sorted := make([]shape, len(order))
	for to, from := range order {
		place[from], sorted[to] = to, c.shapes[from]
	}
	c.shapes = sorted
	for i := range c.nodes {
		c.nodes[i].shape = place[c.nodes[i].shape]
	}
	for i, sh := range c.shapes {
		for _, p := range sh.partitions {
			if sh.observed && c.describesNoNewWorkers(sh.pool) {
				c.partitions[p].shapes = append(c.partitions[p].shapes, i)
			}
		}
	}
}

// partitionResults returns the results of all partitions.
func (c *cluster) partitionResults() []Partition {
	out := make([]Partition, len(c.partitions))
	for i := range c.partitions {
		p := &c.partitions[i]
		p.RequiredNodes = p.BusyNodes + p.PendingNodes
		for rc, jobs := range p.byReason {
			rc.Jobs = jobs
			p.PendingByReason = append(p.PendingByReason, rc)
		}
		slices.SortFunc(p.PendingByReason, func(a, b ReasonCount) int {
			return cmp.Or(strings.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class))
		})
		p.Unsatisfiable = sortUnsatisfiable(p.unsatisfiable)
		out[i] = p.Partition
	}
	return out
}
