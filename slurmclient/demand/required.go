package demand

// setNewLeft sets how many more workers jobs can request from each pool.
func (c *cluster) allot() {
	for at := range c.pools {
		p := &c.pools[at]
		p.limited = p.offer.Max > 0
		p.left = less(p.reach(),
			plus(p.result.Busy, p.lost(p.result.Idle+p.result.Booting)))
		p.spare = less(p.left, p.result.Idle+p.result.Booting)
	}
}

// usableMaximum returns how many useful workers the pool can have. Workers up to Max that do not
// exist yet and that a reservation keeps from jobs are useless.
func (p *pool) reach() uint64 {
	there := p.result.Busy + p.result.Idle + p.result.Booting
	return max(less(p.offer.Max, p.reserved), min(p.offer.Max, max(there, p.offer.Min)))
}

// countLost returns how many of the pool's Replicas are unusable, when that many other workers are
// free to be removed. Nodes beyond Replicas are being removed: first the free ones and those that
// were free, since scale-in drains them first. The drain reason identifies some of them.
func (p *pool) lost(free uint64) uint64 {
	d := &p.result
	leaving := less(d.Busy+d.Idle+d.Booting+d.Unusable, p.offer.Running)
	return less(d.Unusable, max(p.leaving, less(leaving, free)))
}

// setRequired adds up what the pool needs.
func (p *pool) require() {
	d := &p.result
	d.Claimed = p.claimedIdle + p.claimedBooting
	kept := max(p.claimedIdle, d.Grace) + p.claimedBooting
	fresh := d.Pending
	if p.rehearsed {
		fresh = p.fresh
	}
	if fresh > 0 || p.keepsAll {
		// New workers are added to the existing ones, whether the jobs can use these or not.
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

// poolResults returns the results of the pools in the order of the input.
func (c *cluster) poolResults() []PoolDemand {
	if len(c.pools) == 0 {
		return nil
	}
	out := make([]PoolDemand, len(c.given))
	for i, at := range c.given {
		p := &c.pools[at]
		for _, part := range p.parts { // sorted by name
			p.result.Partitions = append(p.result.Partitions, c.parts[part].Name)
		}
		out[i] = p.result
	}
	return out
}
