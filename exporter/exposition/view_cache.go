package exposition

import (
	"time"

	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// DemandMaxAge is how long a computed demand is valid for an unchanged snapshot. Begin times
// pass without a change in Slurm.
const DemandMaxAge = 10 * time.Second

// ViewCache returns views of snapshots and reuses the sums of unchanged resources. If computing
// a sum panics, the previous sum stays. Only one goroutine may use it; views are immutable.
type ViewCache struct {
	Limits  tally.Limits
	Panics  *PanicCounter
	Compute func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
	last    tally.View
}

func (m *ViewCache) viewOf(now time.Time, s *slurmclient.Snapshot) *tally.View {
	old := m.last
	v := tally.View{Snapshot: s, Limits: m.Limits, NodeTotals: old.NodeTotals, JobTotals: old.JobTotals,
		Demand: old.Demand}
	if s.Nodes.Known && tally.HasChanged(old.Snapshot, s, slurmclient.Nodes) {
		m.Panics.Guard(stageTotal, "nodes", func() { v.NodeTotals = tally.TotalNodes(s.Nodes.Value) })
	}
	if s.Jobs.Known && tally.HasChanged(old.Snapshot, s, slurmclient.Jobs) {
		m.Panics.Guard(stageTotal, "jobs", func() { v.JobTotals = tally.TotalJobs(s.Jobs.Value) })
	}
	d, err := m.Compute(now, s)
	m.Panics.countError(stageTotal, "demand", err)
	if err == nil {
		v.Demand = d
	}
	m.last = v
	return &v
}

// CachedDemand returns a function that computes the demand of snapshots without NodeSets and
// caches the result. Only one goroutine may use the function.
func CachedDemand() func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
	var last *slurmclient.Snapshot
	var at time.Time
	var d demand.Demand
	var err error
	return func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
		changed := false
		for _, r := range []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions} {
			changed = changed || tally.HasChanged(last, s, r)
		}
		if changed || now.Sub(at) >= DemandMaxAge {
			err = slurmclient.Guard("computing the demand", func() { d = demand.Compute(now, s) })
			at = now
		}
		last = s
		return d, err
	}
}
