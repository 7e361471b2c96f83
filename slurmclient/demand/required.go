package demand

// allot tells each pool how many more workers jobs may ask it for.
func (c *cluster) allot() {
	for at := range c.pools {
		p := &c.pools[at]
		p.limited = p.offer.Max > 0
		p.left = less(p.reach(), plus(p.result.Busy, p.lost(p.result.Idle+p.result.Booting)))
		p.spare = less(p.left, p.result.Idle+p.result.Booting)
	}
}

// reach is how many workers the pool may have that are of use: those of its Max that are
// not yet there and that a reservation keeps from jobs are of none.
func (p *pool) reach() uint64 {
	there := p.result.Busy + p.result.Idle + p.result.Booting
	return max(less(p.offer.Max, p.reserved), min(p.offer.Max, max(there, p.offer.Min)))
}

// lost is how many of the workers that the pool is meant to have are unusable, when
// so many others are free to go. Nodes beyond those that it is meant to have are
// leaving: the free ones, or those that were free, as scale-in drains them first; of
// some the reason of their drain tells it.
func (p *pool) lost(free uint64) uint64 {
	d := &p.result
	leaving := less(d.Busy+d.Idle+d.Booting+d.Unusable, p.offer.Running)
	return less(d.Unusable, max(p.leaving, less(leaving, free)))
}

// require adds up what the pool needs.
func (p *pool) require() {
	d := &p.result
	d.Claimed = p.claimedIdle + p.claimedBooting
	kept := max(p.claimedIdle, d.Grace) + p.claimedBooting
	fresh := d.Pending
	if p.rehearsed {
		fresh = p.fresh
	}
	if fresh > 0 || p.keepsAll {
		// New workers come beside those that are there, of use to the jobs or not.
		kept = d.Idle + d.Booting
	}
	working := plus(d.Busy+kept, fresh)
	if working > 0 {
		d.Replacements = p.lost(d.Idle + d.Booting - kept)
	}
	d.Required = max(plus(working, d.Replacements), p.offer.Min, p.named)
	if p.offer.Max > 0 {
		d.Required = max(min(d.Required, p.reach()), d.Busy)
	}
	d.Unsatisfiable = sorted(p.unsatisfiable)
}

// poolResults hands out the pools in the order of the input.
func (c *cluster) poolResults() []PoolDemand {
	if len(c.pools) == 0 {
		return nil
	}
	out := make([]PoolDemand, len(c.given))
	for i, at := range c.given {
		p := &c.pools[at]
		for _, part := range p.parts { // in the order of their names
			p.result.Partitions = append(p.result.Partitions, c.parts[part].Name)
		}
		out[i] = p.result
	}
	return out
}
