package demand

import (
	"cmp"
	"math"
	"slices"
)

// choice is how slurmctld finds the nodes of one job. It follows select/cons_tres and the
// flat topology (topology/common/eval_nodes.c): nodes of the lowest weight first; among
// these the smallest row of neighbours that is enough, else the largest; in it the nodes
// one after the other, or for a job of one node the fullest that has room.
type choice struct {
	*stage
	r    *request
	part int
	// offers are the seats that could give something, in their order, and how many CPUs.
	offers []offer
	taken  []taking
	// What is still to be found: CPUs, nodes, of them at least, at most; most CPUs.
	cpus, nodes, least, most, mostCPUs int64
	gres                               []uint64
}

// offer is a seat that could give the job so many CPUs.
type offer struct {
	seat   int
	cpus   uint64
	weight uint32
}

// taking is what a job takes of a seat.
type taking struct {
	seat int
	amounts
}

// choose finds nodes for one job, or returns false. Nodes of a greater weight are looked
// at only where those of less weight do not do.
func (c *choice) choose() bool {
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
		lighter := slices.DeleteFunc(slices.Clone(all), func(o offer) bool { return o.weight > w && !c.requires(o.seat) })
		if uint64(len(lighter)) >= c.r.nodes && c.chooseFrom(lighter) {
			return true
		}
	}
	return false
}

// chooseFrom tries the offers, and where they do not do, leaves out the smallest ones:
// they may have been in the way.
func (c *choice) chooseFrom(offers []offer) bool {
	for least := uint64(0); ; {
		if c.try(offers) {
			return true
		}
		least = math.MaxUint64
		for _, o := range offers {
			if !c.requires(o.seat) {
				least = min(least, o.cpus)
			}
		}
		if least == math.MaxUint64 {
			return false
		}
		offers = slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return o.cpus <= least && !c.requires(o.seat) })
		if uint64(len(offers)) < c.r.nodes || len(offers) == 0 {
			return false
		}
		c.work -= len(offers)
	}
}

func (c *choice) requires(seat int) bool {
	return len(c.r.required) > 0 && slices.Contains(c.r.required, c.seats[seat].name)
}

// try takes nodes of the offers until the job has what it needs.
func (c *choice) try(offers []offer) bool {
	r := c.r
	c.taken, c.offers = c.taken[:0], slices.Clone(offers)
	c.most = int64(min(r.mostNodes(c.nodeLimit()), math.MaxInt32))
	c.least = int64(r.nodes)
	c.nodes = max(c.least, int64(r.wantedNodes(c.nodeLimit())))
	c.cpus, c.mostCPUs = int64(r.cpus), int64(r.cpus)
	c.gres = c.gresOfJob()
	for i := range c.offers {
		if c.requires(c.offers[i].seat) {
			c.add(&c.offers[i])
		}
	}
	if len(c.taken) < len(r.required) {
		return false
	}
	for !c.done() && c.most > 0 {
		row := c.bestRow()
		if row == nil {
			break
		}
		c.takeRow(row)
	}
	return c.cpus <= 0 && c.holdsTasks() && c.nodes <= max(0, int64(r.wantedNodes(c.nodeLimit()))-int64(r.nodes)) && !c.lacksGRES()
}

func (c *choice) nodeLimit() uint64 {
	if c.r.anyNodes {
		return 0
	}
	return c.parts[c.part].maxNodes
}

func (c *choice) done() bool { return c.nodes <= 0 && c.cpus <= 0 && !c.lacksGRES() }

// bestRow is the row of neighbours that slurmctld takes next.
func (c *choice) bestRow() []offer {
	var best []offer
	var bestCPUs int64
	bestEnough := false
	for rest := c.offers; len(rest) > 0; {
		if rest[0].cpus == 0 { // taken
			rest = rest[1:]
			continue
		}
		end := 1
		for end < len(rest) && rest[end].cpus > 0 && rest[end].weight == rest[0].weight &&
			c.seats[rest[end].seat].at == c.seats[rest[end-1].seat].at+1 {
			end++
		}
		row := rest[:end]
		rest = rest[end:]
		cpus, enough := c.measure(row)
		if best == nil || cmp.Or(cmp.Compare(row[0].weight, best[0].weight), -compareBool(enough, bestEnough)) < 0 ||
			row[0].weight == best[0].weight && enough == bestEnough && (cpus < bestCPUs) == enough && cpus != bestCPUs {
			best, bestCPUs, bestEnough = row, cpus, enough
		}
	}
	return best
}

func compareBool(a, b bool) int { return cmp.Compare(one(a), one(b)) }

// measure adds up a row, and tells whether it is all that the job needs.
func (c *choice) measure(row []offer) (cpus int64, enough bool) {
	gres := make([]uint64, len(c.gres))
	for _, o := range row {
		cpus += int64(o.cpus)
		for k := range gres {
			gres[k] += c.free[o.seat][amountGRES+k]
		}
	}
	spare := max(0, int64(c.r.wantedNodes(c.nodeLimit()))-int64(c.r.nodes))
	enough = cpus >= c.cpus && int64(len(row)) >= c.nodes-spare
	for k, need := range c.gres {
		enough = enough && gres[k] >= need
	}
	return cpus, enough
}

// takeRow takes nodes of the row, as many as are needed; for a job of one node the
// smallest offer that will do.
func (c *choice) takeRow(row []offer) {
	if c.nodes <= 1 {
		best := -1
		for i, o := range row {
			if int64(o.cpus) >= c.cpus && c.givesGRES(o.seat) && (best < 0 || o.cpus < row[best].cpus) {
				best = i
			}
		}
		if best >= 0 {
			for i := range row {
				if i != best {
					row[i].cpus = 0
				}
			}
			row = row[best : best+1]
		}
	}
	for i := range row {
		if c.most <= 0 || c.done() {
			break
		}
		if c.most == 1 && int64(row[i].cpus) < c.cpus {
			continue
		}
		c.add(&row[i])
	}
	for i := range row {
		row[i].cpus = 0
	}
}
