package demand

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// nodeChoice selects the nodes of one job as slurmctld does. It follows select/cons_tres with the flat topology
// (topology/common/eval_nodes.c). Nodes of the lowest weight come first. Among these, slurmctld takes the smallest row of adjacent nodes
// that is large enough, else the largest row. It takes the nodes of a row in order; a job of one node gets the fullest node with room.
type nodeChoice struct {
	*simRun
	request   *request
	partition int
	// offers are the nodes that could contribute CPUs, in node order.
	offers      []nodeOffer
	allocations []allocation
	// The remaining needs: CPUs, nodes, the minimum and maximum number of nodes, the maximum of CPUs.
	cpusLeft, nodesLeft, minNodesLeft, maxNodesLeft, maxCPUsLeft int64
	gresLeft                                                     []uint64
}

// nodeOffer is a node and how many CPUs it could give the job.
type nodeOffer struct {
	node   int
	cpus   uint64
	weight uint32
}

// allocation is the resources of a job on one node.
type allocation struct {
	node int
	model.Amounts
}

// chooseNodes finds nodes for one job, or returns false. If some node is only free soon, it first tries the ready and booting nodes: a
// booting node must not stay unused because another one is free soon.
func (c *nodeChoice) chooseNodes() bool {
	c.workLeft -= len(c.simNodes)
	anySoon := false
	for i := range c.simNodes {
		if cpus := c.offeredCPUs(i); cpus > 0 {
			c.offers = append(c.offers, nodeOffer{i, cpus, max(1, c.Shapes[c.simNodes[i].shape].Weight)})
			anySoon = anySoon || c.simNodes[i].freeState == model.FreeSoon
		}
	}
	all := c.offers
	return anySoon && c.chooseByWeight(c.withoutLater(all)) || c.chooseByWeight(all)
}

// withoutLater returns the offers without nodes that are new or free soon.
func (c *nodeChoice) withoutLater(offers []nodeOffer) []nodeOffer {
	return slices.DeleteFunc(slices.Clone(offers), func(o nodeOffer) bool {
		n := &c.simNodes[o.node]
		return n.newRank > 0 || n.freeState == model.FreeSoon
	})
}

// chooseByWeight tries the offers. It considers nodes of a higher weight only if the nodes of lower weight are not enough.
func (c *nodeChoice) chooseByWeight(all []nodeOffer) bool {
	var weights []uint32
	for _, o := range all {
		weights = append(weights, o.weight)
	}
	slices.Sort(weights)
	for _, w := range slices.Compact(weights) {
		lighter := slices.DeleteFunc(slices.Clone(all),
			func(o nodeOffer) bool { return o.weight > w && !c.requiresNode(o.node) })
		if uint64(len(lighter)) >= c.request.Nodes && c.chooseFrom(lighter) {
			return true
		}
	}
	return false
}

// chooseFrom tries the offers. Where they fail, it leaves out the smallest ones and tries again,
// since they can prevent a better selection.
func (c *nodeChoice) chooseFrom(offers []nodeOffer) bool {
	for !c.tryOffers(offers) {
		least := uint64(math.MaxUint64)
		for _, o := range offers {
			if !c.requiresNode(o.node) {
				least = min(least, o.cpus)
			}
		}
		offers = slices.DeleteFunc(slices.Clone(offers),
			func(o nodeOffer) bool { return o.cpus <= least && !c.requiresNode(o.node) })
		if least == math.MaxUint64 || len(offers) == 0 || uint64(len(offers)) < c.request.Nodes {
			return false
		}
		c.workLeft -= len(offers)
	}
	return true
}

func (c *nodeChoice) requiresNode(node int) bool {
	return len(c.request.RequiredNodes) > 0 && slices.Contains(c.request.RequiredNodes, c.simNodes[node].name)
}

// tryOffers takes nodes of the offers until the job has all its resources.
func (c *nodeChoice) tryOffers(offers []nodeOffer) bool {
	r := c.request
	c.allocations, c.offers = c.allocations[:0], slices.Clone(offers)
	c.maxNodesLeft = int64(min(r.MaxNodesWithin(c.maxNodesOfJob()), math.MaxInt32))
	c.minNodesLeft = int64(r.Nodes)
	c.nodesLeft = max(c.minNodesLeft, int64(r.PreferredNodesWithin(c.maxNodesOfJob())))
	c.cpusLeft, c.maxCPUsLeft = int64(r.CPUs), int64(r.CPUs)
	c.gresLeft = c.gresOfWholeJob()
	for i := range c.offers {
		if c.requiresNode(c.offers[i].node) {
			c.takeOffer(&c.offers[i])
		}
	}
	if len(c.allocations) < len(r.RequiredNodes) {
		return false
	}
	for !c.hasEnough() && c.maxNodesLeft > 0 {
		best := c.bestRow()
		if best.offers == nil {
			break
		}
		c.takeRow(best)
	}
	return c.cpusLeft <= 0 && c.fitsTasks() &&
		c.nodesLeft <= max(0, int64(r.PreferredNodesWithin(c.maxNodesOfJob()))-int64(r.Nodes)) && !c.lacksGRES()
}

// maxNodesOfJob returns how many nodes the partition and the limits of QOS and associations allow
// the job; 0 for any number (acct_policy_get_max_nodes).
func (c *nodeChoice) maxNodesOfJob() uint64 {
	most := c.nodeLimit(c.request, c.partition)
	if limit := c.request.NodesAllowed; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return most
}

func (c *nodeChoice) hasEnough() bool { return c.nodesLeft <= 0 && c.cpusLeft <= 0 && !c.lacksGRES() }

// offerRow is a row of adjacent offers of one weight. required is the index of the first offer whose node the job names, or -1.
type offerRow struct {
	offers   []nodeOffer
	required int
	cpus     int64
	enough   bool
}

// bestRow returns the row that slurmctld takes next. Rows with nodes that the job names, or of lower weight, come first. Among the others
// it is the smallest sufficient row, else the largest.
func (c *nodeChoice) bestRow() (best offerRow) {
	for rest := c.offers; len(rest) > 0; {
		end := 1
		for end < len(rest) && rest[end].weight == rest[0].weight &&
			c.simNodes[rest[end].node].position == c.simNodes[rest[end-1].node].position+1 {
			end++
		}
		r := c.rowOf(rest[:end])
		rest = rest[end:]
		if r.cpus == 0 {
			continue
		}
		lighter := best.offers != nil && r.offers[0].weight < best.offers[0].weight
		alike := best.offers != nil && r.offers[0].weight == best.offers[0].weight
		if best.offers == nil || best.required < 0 && r.required >= 0 || lighter ||
			alike && (r.enough && (!best.enough || r.cpus < best.cpus) || !r.enough && r.cpus > best.cpus) {
			best = r
		}
	}
	return best
}

// rowOf adds up the offers of a row.
func (c *nodeChoice) rowOf(offers []nodeOffer) offerRow {
	r := offerRow{offers: offers, required: -1}
	nodes := int64(0)
	gres := make([]uint64, len(c.gresLeft))
	for i, o := range offers {
		if r.required < 0 && c.requiresNode(o.node) {
			r.required = i
		}
		if o.cpus == 0 {
			continue // already taken
		}
		nodes++
		r.cpus += int64(o.cpus)
		for k := range gres {
			gres[k] += c.free[o.node][model.AmountGRES+k]
		}
	}
	spare := max(0, int64(c.request.PreferredNodesWithin(c.maxNodesOfJob()))-int64(c.request.Nodes))
	r.enough = r.cpus >= c.cpusLeft && nodes >= c.nodesLeft-spare
	for k, need := range c.gresLeft {
		r.enough = r.enough && gres[k] >= need
	}
	return r
}

// takeRow takes as many nodes of the row as needed: upwards from the nodes that the job names, then downwards. If the job needs one more
// node, it takes the smallest sufficient one.
func (c *nodeChoice) takeRow(r offerRow) {
	offers := r.offers
	if r.required >= 0 {
		offers = slices.Clone(r.offers[r.required:])
		below := slices.Clone(r.offers[:r.required])
		slices.Reverse(below)
		offers = append(offers, below...)
	} else if best := c.findSmallest(offers); best >= 0 {
		offers = offers[best : best+1]
	}
	for i := range offers {
		if c.maxNodesLeft <= 0 || c.hasEnough() {
			break
		}
		if o := &offers[i]; o.cpus > 0 && (c.maxNodesLeft > 1 || r.required >= 0 || int64(o.cpus) >= c.cpusLeft) {
			c.takeOffer(o)
		}
	}
	for i := range r.offers {
		r.offers[i].cpus = 0
	}
}

// findSmallest returns the index of the smallest offer that completes the job when it needs at most
// one more node; -1 for none.
func (c *nodeChoice) findSmallest(offers []nodeOffer) int {
	best := -1
	for i, o := range offers {
		if c.nodesLeft <= 1 && o.cpus > 0 && int64(o.cpus) >= c.cpusLeft && c.hasAllGRES(o.node) &&
			(best < 0 || o.cpus < offers[best].cpus) {
			best = i
		}
	}
	return best
}
