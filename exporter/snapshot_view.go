package exporter

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// snapshotView is what families read: a snapshot, and sums over it that several families share.
type snapshotView struct {
	*slurmclient.Snapshot
	limits Limits
	// nodes and jobs are nil until they have been read.
	nodes  *nodeTotals
	jobs   *jobTotals
	demand demand.Demand
}

// demandMaxAge is how long a computed demand is valid for an unchanged snapshot. Begin times
// pass without a change in Slurm.
const demandMaxAge = 10 * time.Second

// viewCache returns views of snapshots and reuses the sums of unchanged resources. If computing
// a sum panics, the previous sum stays. Only one goroutine may use it; views are immutable.
type viewCache struct {
	limits  Limits
	panics  *panicCounter
	compute func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
	last    snapshotView
}

func (m *viewCache) viewOf(now time.Time, s *slurmclient.Snapshot) *snapshotView {
	old := m.last
	v := snapshotView{Snapshot: s, limits: m.limits, nodes: old.nodes, jobs: old.jobs, demand: old.demand}
	if s.Nodes.Known && hasChanged(old.Snapshot, s, slurmclient.Nodes) {
		m.panics.guard(stageTotal, "nodes", func() { v.nodes = totalNodes(s.Nodes.Value) })
	}
	if s.Jobs.Known && hasChanged(old.Snapshot, s, slurmclient.Jobs) {
		m.panics.guard(stageTotal, "jobs", func() { v.jobs = totalJobs(s.Jobs.Value) })
	}
	d, err := m.compute(now, s)
	m.panics.countError(stageTotal, "demand", err)
	if err == nil {
		v.demand = d
	}
	m.last = v
	return &v
}

// cachedDemand returns a function that computes the demand of snapshots without NodeSets and
// caches the result. Only one goroutine may use the function.
func cachedDemand() func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
	var last *slurmclient.Snapshot
	var at time.Time
	var d demand.Demand
	var err error
	return func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
		changed := false
		for _, r := range []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions} {
			changed = changed || hasChanged(last, s, r)
		}
		if changed || now.Sub(at) >= demandMaxAge {
			err = slurmclient.Guard("computing the demand", func() { d = demand.Compute(now, s) })
			at = now
		}
		last = s
		return d, err
	}
}

// hasChanged reports whether the value of a resource has changed between two snapshots.
func hasChanged(old, now *slurmclient.Snapshot, r slurmclient.Resource) bool {
	if old == nil {
		return true
	}
	a, b := pollOf(old, r), pollOf(now, r)
	return a.Known != b.Known || a.Sequence != b.Sequence
}

func pollOf(s *slurmclient.Snapshot, r slurmclient.Resource) slurmclient.Poll {
	for _, p := range s.Polls() {
		if p.Resource == r {
			return p
		}
	}
	return slurmclient.Poll{}
}
