package demand

import (
	"math"
	"slices"
)

// nodeChoice selects the nodes of one job as slurmctld does. It follows select/cons_tres with the
// flat topology (topology/common/eval_nodes.c). Nodes of the lowest weight come first. Among these,
// slurmctld takes the smallest row of adjacent nodes that is large enough, else the largest row. It
// takes the nodes of a row in order, or for a job of one node the fullest node that has room.
type choice struct {
	*stage
	r    *request
	part int
	// offers are the nodes that could contribute CPUs, in node order.
	offers []offer
	taken  []taking
	// What is still needed: CPUs, nodes, the minimum and maximum number of nodes, the maximum of
	// CPUs.
	cpus, nodes, least, most, mostCPUs int64
	gres                               []uint64
}

// nodeOffer is a node and how many CPUs it could give the job.
type offer struct {
	seat   int
	cpus   uint64
	weight uint32
}

// allocation is what a job allocates on a node.
type taking struct {
	seat int
	amounts
}

// chooseNodes finds nodes for one job, or returns false. Nodes of a higher weight are considered
// only where the nodes of lower weight are not enough.
func (c *choice) chooseNodes() bool {
	c.work -= len(c.seats)
	for i := range c.seats {
		if cpus := c.cpusOf(i); cpus > 0 {
			c.offers = append(c.offers, offer{i, cpus, max(1, c.shapes[c.seats[i].shape].weight)})
		}
	}
	all := c.offers
	var weights []uint32
	for _, o := range all {
		weights = append(weights, o.weight)
	}
	slices.Sort(weights)
	for _, w := range slices.Compact(weights) {
		lighter := slices.DeleteFunc(slices.Clone(all),
			func(o offer) bool { return o.weight > w && !c.requiresSeat(o.seat) })
		if uint64(len(lighter)) >= c.r.nodes && c.chooseFrom(lighter) {
			return true
		}
	}
	return false
}

// chooseFrom tries the offers. Where they fail, it leaves out the smallest ones and tries again,
// since they can prevent a better selection.
func (c *choice) chooseFrom(offers []offer) bool {
	for !c.tryOffers(offers) {
		least := uint64(math.MaxUint64)
		for _, o := range offers {
			if !c.requiresSeat(o.seat) {
				least = min(least, o.cpus)
			}
		}
		offers = slices.DeleteFunc(slices.Clone(offers),
			func(o offer) bool { return o.cpus <= least && !c.requiresSeat(o.seat) })
		if least == math.MaxUint64 || len(offers) == 0 || uint64(len(offers)) < c.r.nodes {
			return false
		}
		c.work -= len(offers)
	}
	return true
}

func (c *choice) requiresSeat(node int) bool {
	return len(c.r.required) > 0 && slices.Contains(c.r.required, c.seats[node].name)
}

// tryOffers takes nodes of the offers until the job has what it needs.
func (c *choice) tryOffers(offers []offer) bool {
	r := c.r
	c.taken, c.offers = c.taken[:0], slices.Clone(offers)
	c.most = int64(min(r.mostNodes(c.mostNodes()), math.MaxInt32))
	c.least = int64(r.nodes)
	c.nodes = max(c.least, int64(r.wantedNodes(c.mostNodes())))
	c.cpus, c.mostCPUs = int64(r.cpus), int64(r.cpus)
	c.gres = c.gresOfJob()
	for i := range c.offers {
		if c.requiresSeat(c.offers[i].seat) {
			c.takeOffer(&c.offers[i])
		}
	}
	if len(c.taken) < len(r.required) {
		return false
	}
	for !c.hasEnough() && c.most > 0 {
		best := c.bestRow()
		if best.offers == nil {
			break
		}
		c.takeRow(best)
	}
	return c.cpus <= 0 && c.holdsTasks() &&
		c.nodes <= max(0, int64(r.wantedNodes(c.mostNodes()))-int64(r.nodes)) && !c.lacksGRES()
}

// maxNodesOfJob returns how many nodes the partition and the limits of QOS and associations allow
// the job; 0 for any number (acct_policy_get_max_nodes).
func (c *choice) mostNodes() uint64 {
	most := c.nodeLimit(c.r, c.part)
	if limit := c.r.nodesAllowed; limit > 0 && (most == 0 || limit < most) {
		most = limit
	}
	return most
}

func (c *choice) hasEnough() bool { return c.nodes <= 0 && c.cpus <= 0 && !c.lacksGRES() }

// offerRow is a row of adjacent offers of one weight. required is the index of the first offer
// whose node the job names, -1 for none.
type row struct {
	offers   []offer
	required int
	cpus     int64
	enough   bool
}

// bestRow returns the row that slurmctld takes next: one with nodes that the job names, or of lower
// weight, else the smallest that is enough, else the largest.
func (c *choice) bestRow() (best row) {
	for rest := c.offers; len(rest) > 0; {
		end := 1
		for end < len(rest) && rest[end].weight == rest[0].weight &&
			c.seats[rest[end].seat].at == c.seats[rest[end-1].seat].at+1 {
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
func (c *choice) rowOf(offers []offer) row {
	r := row{offers: offers, required: -1}
	nodes := int64(0)
	gres := make([]uint64, len(c.gres))
	for i, o := range offers {
		if r.required < 0 && c.requiresSeat(o.seat) {
			r.required = i
		}
		if o.cpus == 0 {
			continue // already taken
		}
		nodes++
		r.cpus += int64(o.cpus)
		for k := range gres {
			gres[k] += c.free[o.seat][amountGRES+k]
		}
	}
	spare := max(0, int64(c.r.wantedNodes(c.mostNodes()))-int64(c.r.nodes))
	r.enough = r.cpus >= c.cpus && nodes >= c.nodes-spare
	for k, need := range c.gres {
		r.enough = r.enough && gres[k] >= need
	}
	return r
}

// takeRow takes as many nodes of the row as needed: from those that the job names upwards, then
// downwards. If the job needs one more node, it takes the smallest one that is enough.
func (c *choice) takeRow(r row) {
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
		if c.most <= 0 || c.hasEnough() {
			break
		}
		if o := &offers[i]; o.cpus > 0 && (c.most > 1 || r.required >= 0 || int64(o.cpus) >= c.cpus) {
			c.takeOffer(o)
		}
	}
	for i := range r.offers {
		r.offers[i].cpus = 0
	}
}

// findSmallest returns the index of the smallest offer that completes the job when it needs at most
// one more node; -1 for none.
func (c *choice) findSmallest(offers []offer) int {
	best := -1
	for i, o := range offers {
		if c.nodes <= 1 && o.cpus > 0 && int64(o.cpus) >= c.cpus && c.givesGRES(o.seat) &&
			(best < 0 || o.cpus < offers[best].cpus) {
			best = i
		}
	}
	return best
}
