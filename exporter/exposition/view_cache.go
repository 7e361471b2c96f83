package exposition

import (
	"context"
	"errors"
	"time"

	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
)

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
	if !errors.Is(err, context.Canceled) { // the connection to the cluster ends
		m.Panics.countError(stageTotal, "demand", err)
	}
	if err == nil {
		v.Demand = d
	}
	m.last = v
	return &v
}

// CachedDemand returns a function that computes the demand of snapshots without NodeSets and
// remembers the result.
func CachedDemand() func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
	var last memo.Memo
	return func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
		answer := last.Compute(now, s)
		return answer.Demand, answer.Err
	}
}
