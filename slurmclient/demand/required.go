package demand

// allot tells each pool how many more workers jobs may ask it for.
func (c *cluster) allot() {
	for at := range c.pools {
		p := &c.pools[at]
		p.limited = p.offer.Max > 0
		p.left = less(p.offer.Max, plus(p.result.Busy, p.lost()))
	}
}

// lost is how many of the workers that the pool is meant to have are unusable.
// Nodes that are there beyond those are leaving, and unusable is what they become
// first: they are drained.
func (p *pool) lost() uint64 {
	d := &p.result
	there := d.Busy + d.Idle + d.Booting + d.Unusable
	return less(d.Unusable, less(there, p.offer.Running))
}

// require adds up what the pool needs.
func (p *pool) require() {
	d := &p.result
	d.Claimed = p.claimedIdle + p.claimedBooting
	working := plus(d.Busy+max(p.claimedIdle, d.Grace)+p.claimedBooting, d.Pending)
	if working > 0 {
		d.Replacements = p.lost()
	}
	d.Required = max(plus(working, d.Replacements), p.offer.Min)
	if p.offer.Max > 0 {
		d.Required = max(min(d.Required, p.offer.Max), d.Busy)
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
		out[i] = c.pools[at].result
	}
	return out
}
