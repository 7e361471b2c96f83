package demand

import (
	"context"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Compute returns the demand of a snapshot. It is pure and total, and does not write to the snapshot.
//
// pools are the NodeSets to scale; their order does not affect the result. If pools serve a partition, its PendingNodes are new workers of
// these pools. A pool describes its nodes even at zero workers, so Partitions can differ from the result without pools.
//
// now is the caller's clock. The times of jobs are from slurmctld's clock, which can differ, so they are compared with an estimate of
// slurmctld's clock at now.
//
// Nodes and jobs are not read at the same moment. A job that started in between counts once. It counts on the node where it runs, even if
// the node still looks idle. Or it counts as a pending job, if the node has work that the job list does not show yet
// (Snapshot.BusySinceJobs).
//
// Jobs that ended up to 30 s ago are about to leave their nodes. If such a node has no room, pending jobs can be planned there after all
// other nodes. If it is COMPLETING, they get the free resources in its record. If the record does not show the end yet, they get the whole
// node, unless other jobs have it or the ended jobs do not explain its use. A node that completes a job for longer counts as used.
//
// Compute finds the requested nodes in three steps. It assigns to each eligible job the node shape of which the job needs fewest nodes, in
// the first pool that could run it. It packs all jobs on new, empty nodes; jobs beyond the Max of a pool move on to the next pool. It then
// subtracts the nodes whose jobs fit on free nodes. One more free node of a shape that the partition has therefore never raises
// PendingNodes.
//
// The work is bounded. If a queue would take more, the jobs beyond the budget are estimated in constant time each, and counted as
// DeviationBudget.
func Compute(now time.Time, s *slurmclient.Snapshot, pools ...model.Pool) model.Demand {
	return compute(newWorkBudget(maxSteps, nil), now, s, pools)
}

// ComputeContext is Compute for callers that may stop waiting. It returns an error and no result soon after ctx ends.
func ComputeContext(ctx context.Context, now time.Time, s *slurmclient.Snapshot, pools ...model.Pool) (model.Demand, error) {
	work := newWorkBudget(maxSteps, ctx.Done())
	d := compute(work, now, s, pools)
	if work.isCanceled() {
		return model.Demand{}, fmt.Errorf("computing the demand: %w", context.Cause(ctx))
	}
	return d, nil
}

// compute is Compute within a budget. The result has no meaning if the budget was canceled.
func compute(work *workBudget, now time.Time, s *slurmclient.Snapshot, pools []model.Pool) model.Demand {
	if s == nil || !s.Nodes.Known || !s.Jobs.Known || !s.Partitions.Known {
		return model.Demand{}
	}
	server := model.ServerTime(now, s)
	c := model.NewCluster(s, pools)
	c.IndexReservations(s, server)
	if work.stops() {
		return model.Demand{}
	}
	q := model.ReadQueue(server, s, c, work.stops)
	if work.stops() {
		return model.Demand{}
	}
	c.AddNodes(s, server, q)
	p := newPlanner(work, s, c, q.Groups)
	p.limitsNodes, p.enforcementUnknown = q.Limits.LimitsNodes, !model.IsEnforcementKnown(s) &&
		!q.Limits.SeesLimitReason
	p.assignRequests()
	if work.stops() {
		return model.Demand{}
	}
	q.Limits.ApplyLimits()
	if work.stops() {
		return model.Demand{}
	}
	p.dropWithheldJobs()
	p.countJobs()
	p.packRequests()
	return model.Demand{Known: true, Partitions: c.PartitionResults(), Pools: c.PoolResults(),
		Overlap: c.OverlapOf(server, s.Jobs.Value), UnknownReasons: q.UnknownReasons()}
}

// UseOf returns the use of a node by its record alone, in the words of NodeUses: busy with work or in an active reservation, idle, booting,
// unusable (down, drained or failed, without work) or off (powered down, or a FUTURE record). Compute also counts a node as busy if only
// its jobs show it: slurmctld reports a node with a suspended job as idle.
func UseOf(n *slurm.Node) string { return model.UseOf(n) }

// NodeUses returns the words of UseOf.
func NodeUses() []string { return model.NodeUses() }

// Resources returns the resources of a snapshot that Compute reads. Without nodes, jobs and partitions the demand is unknown; the others
// are optional. The list omits statistics, since they only improve the estimate of slurmctld's clock.
func Resources() []slurmclient.Resource {
	return []slurmclient.Resource{
		slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations, slurmclient.Licenses,
		slurmclient.Associations, slurmclient.QOS, slurmclient.Conf,
	}
}
