package model

import "github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"

// SetNewLeft sets how many more workers jobs can request from each pool.
func (c *Cluster) SetNewLeft() {
	for at := range c.Pools {
		p := &c.Pools[at]
		p.Limited = p.Spec.Max > 0
		p.NewLeft = saturating.Sub(p.usableMaximum(),
			saturating.Add(p.Result.Busy, p.countLost(p.Result.Idle+p.Result.Booting)))
		p.MaxNew = saturating.Sub(p.NewLeft, p.Result.Idle+p.Result.Booting)
	}
}

// usableMaximum returns how many useful workers the pool can have. Workers up to Max that do not
// exist yet and that a reservation keeps from jobs are useless.
func (p *PoolState) usableMaximum() uint64 {
	there := p.Result.Busy + p.Result.Idle + p.Result.Booting
	return max(saturating.Sub(p.Spec.Max, p.reservedNew), min(p.Spec.Max, max(there, p.Spec.Min)))
}

// countLost returns how many of the pool's Replicas are unusable, if the given number of other workers are free to be
// removed. Nodes beyond Replicas are being removed. Scale-in drains free nodes first, so these are nodes that are or
// were free. The drain reason identifies some of them.
func (p *PoolState) countLost(free uint64) uint64 {
	d := &p.Result
	leaving := saturating.Sub(d.Busy+d.Idle+d.Booting+d.Unusable, p.Spec.Replicas)
	return saturating.Sub(d.Unusable, max(p.scalingIn, saturating.Sub(leaving, free)))
}

// SetRequired adds up what the pool needs.
func (p *PoolState) SetRequired() {
	d := &p.Result
	d.Claimed = p.ClaimedIdle + p.ClaimedBooting
	kept := max(p.ClaimedIdle, d.Grace) + p.ClaimedBooting
	fresh := d.Pending
	if p.IsSimulated {
		fresh = p.SimulatedNew
	}
	if fresh > 0 || p.KeepsAllFree {
		// New workers are added to the existing ones, whether the jobs can use these or not.
		kept = d.Idle + d.Booting
	}
	working := saturating.Add(d.Busy+kept, fresh)
	if working > 0 {
		d.Replacements = p.countLost(d.Idle + d.Booting - kept)
	}
	d.Required = max(saturating.Add(working, d.Replacements), p.Spec.Min, p.NamedWorkers)
	if p.Spec.Max > 0 {
		d.Required = max(min(d.Required, p.usableMaximum()), d.Busy)
	}
	d.Unsatisfiable = sortUnsatisfiable(p.UnsatisfiableByReason)
}

// PoolResults returns the results of the pools in the order of the input.
func (c *Cluster) PoolResults() []PoolDemand {
	if len(c.Pools) == 0 {
		return nil
	}
	out := make([]PoolDemand, len(c.inputOrder))
	for i, at := range c.inputOrder {
		p := &c.Pools[at]
		for _, part := range p.Partitions { // sorted by name
			p.Result.Partitions = append(p.Result.Partitions, c.Partitions[part].Name)
		}
		out[i] = p.Result
	}
	return out
}
