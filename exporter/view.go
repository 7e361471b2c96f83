package exporter

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// view is what families read: a snapshot and sums over it, which many of them share.
type view struct {
	*slurmclient.Snapshot
	limits Limits
	// nodes and jobs are nil until they have been read.
	nodes  *nodeTotals
	jobs   *jobTotals
	demand demand.Demand
}

// demandLife is how long a demand is good for without a change in the snapshot:
// begin times pass while nothing else happens.
const demandLife = 10 * time.Second

// viewer makes views, and reuses sums of what has not changed. A sum that panics stays as
// it was. It is for one goroutine; the views may be kept.
type viewer struct {
	limits  Limits
	panics  *panics
	compute func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
	last    view
}

func (m *viewer) view(now time.Time, s *slurmclient.Snapshot) *view {
	old := m.last
	v := view{Snapshot: s, limits: m.limits, nodes: old.nodes, jobs: old.jobs, demand: old.demand}
	if s.Nodes.Known && differs(old.Snapshot, s, slurmclient.Nodes) {
		m.panics.guard(stageTotal, "nodes", func() { v.nodes = totalNodes(s.Nodes.Value) })
	}
	if s.Jobs.Known && differs(old.Snapshot, s, slurmclient.Jobs) {
		m.panics.guard(stageTotal, "jobs", func() { v.jobs = totalJobs(s.Jobs.Value) })
	}
	d, err := m.compute(now, s)
	m.panics.note(stageTotal, "demand", err)
	if err == nil {
		v.demand = d
	}
	m.last = v
	return &v
}

// demandOfAll returns a function that computes the demand of snapshots without NodeSets,
// and computes nothing twice. It is for one goroutine.
func demandOfAll() func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
	var last *slurmclient.Snapshot
	var at time.Time
	var d demand.Demand
	var err error
	return func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
		changed := false
		for _, r := range []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions} {
			changed = changed || differs(last, s, r)
		}
		if changed || now.Sub(at) >= demandLife {
			err = slurmclient.Guard("computing the demand", func() { d = demand.Compute(now, s) })
			at = now
		}
		last = s
		return d, err
	}
}

// differs reports whether a resource's value is another one in the newer snapshot.
func differs(old, now *slurmclient.Snapshot, r slurmclient.Resource) bool {
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
