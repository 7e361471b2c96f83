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

// viewer makes views, and reuses sums of what has not changed. It is for one
// goroutine; the views may be kept.
type viewer struct {
	limits   Limits
	last     view
	demandAt time.Time
}

func (m *viewer) view(now time.Time, s *slurmclient.Snapshot) *view {
	old := m.last
	v := view{Snapshot: s, limits: m.limits, nodes: old.nodes, jobs: old.jobs, demand: old.demand}
	nodes := differs(old.Snapshot, s, slurmclient.Nodes)
	jobs := differs(old.Snapshot, s, slurmclient.Jobs)
	if nodes && s.Nodes.Known {
		v.nodes = totalNodes(s.Nodes.Value)
	}
	if jobs && s.Jobs.Known {
		v.jobs = totalJobs(s.Jobs.Value)
	}
	if nodes || jobs || differs(old.Snapshot, s, slurmclient.Partitions) || now.Sub(m.demandAt) >= demandLife {
		v.demand = demand.Compute(now, s)
		m.demandAt = now
	}
	m.last = v
	return &v
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
