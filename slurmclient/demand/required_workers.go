package demand

import "github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"

// setNewLeft sets how many more workers jobs can request from each pool.
func (c *cluster) setNewLeft() {
	for at := range c.pools {
		p := &c.pools[at]
		p.limited = p.spec.Max > 0
		p.newLeft = saturating.Sub(p.usableMaximum(),
			saturating.Add(p.result.Busy, p.countLost(p.result.Idle+p.result.Booting)))
		p.maxNew = saturating.Sub(p.newLeft, p.result.Idle+p.result.Booting)
	}
}

// usableMaximum returns how many useful workers the pool can have. Workers up to Max that do not
// exist yet and that a reservation keeps from jobs are useless.
func (p *pool) usableMaximum() uint64 {
	there := p.result.Busy + p.result.Idle + p.result.Booting
	return max(saturating.Sub(p.spec.Max, p.reservedNew), min(p.spec.Max, max(there, p.spec.Min)))
}

// countLost returns how many of the pool's Replicas are unusable, when that many other workers are
// free to be removed. Nodes beyond Replicas are being removed: first the free ones and those that
// were free, since scale-in drains them first. The drain reason identifies some of them.
func (p *pool) countLost(free uint64) uint64 {
	d := &p.result
	leaving := saturating.Sub(d.Busy+d.Idle+d.Booting+d.Unusable, p.spec.Replicas)
	return saturating.Sub(d.Unusable, max(p.scalingIn, saturating.Sub(leaving, free)))
}

// setRequired adds up what the pool needs.
func (p *pool) setRequired() {
	d := &p.result
	d.Claimed = p.claimedIdle + p.claimedBooting
	kept := max(p.claimedIdle, d.Grace) + p.claimedBooting
	fresh := d.Pending
	if p.isSimulated {
		fresh = p.simulatedNew
	}
	if fresh > 0 || p.keepsAllFree {
		// New workers are added to the existing ones, whether the jobs can use these or not.
		kept = d.Idle + d.Booting
	}
	working := saturating.Add(d.Busy+kept, fresh)
	if working > 0 {
		d.Replacements = p.countLost(d.Idle + d.Booting - kept)
	}
	d.Required = max(saturating.Add(working, d.Replacements), p.spec.Min, p.namedWorkers)
	if p.spec.Max > 0 {
		d.Required = max(min(d.Required, p.usableMaximum()), d.Busy)
	}
	d.Unsatisfiable = sortUnsatisfiable(p.unsatisfiable)
}

// poolResults returns the results of the pools in the order of the input.
func (c *cluster) poolResults() []PoolDemand {
	if len(c.pools) == 0 {
		return nil
	}
	out := make([]PoolDemand, len(c.inputOrder))
	for i, at := range c.inputOrder {
		p := &c.pools[at]
		for _, part := range p.partitions { // sorted by name
			p.result.Partitions = append(p.result.Partitions, c.partitions[part].Name)
		}
		out[i] = p.result
	}
	return out
}
