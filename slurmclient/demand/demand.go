package demand

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Demand is what the queue asks for.
type Demand struct {
	// Known is true once nodes, jobs and partitions have each been read. While it is
	// false nothing else means anything and Partitions and Pools are empty.
	Known bool
	// Partitions has every partition of the snapshot, sorted by name.
	Partitions []Partition
	// Pools has every pool that Compute was given, in that order.
	Pools []PoolDemand
	// UnknownReasons are the pending reasons seen that ClassOf does not know, sorted.
	// Their jobs are in ClassOther unless something else in their records tells more.
	UnknownReasons []string
}

// Partition is the demand on one partition. A job that may run in several
// partitions counts as a job in each of them, and asks for nodes in one: the
// first that it lists whose nodes could run it.
type Partition struct {
	Name string

	// PendingJobs counts pending jobs, an array task as one job, whatever they wait
	// for; EligiblePendingJobs those of ClassCapacity: more nodes would help them.
	PendingJobs, EligiblePendingJobs uint64
	// PendingByReason splits PendingJobs by reason and class, sorted by reason, then
	// class. Its sum is PendingJobs, its ClassCapacity part EligiblePendingJobs.
	PendingByReason []ReasonCount
	// Inexact is true when a job array's list of tasks was cut by slurmctld, so that
	// the counts of pending jobs are lower bounds.
	Inexact bool
	// RunningJobs and SuspendedJobs count the jobs that hold nodes.
	RunningJobs, SuspendedJobs uint64
	// OldestPending is the earliest submit time of the pending jobs, OldestEligible
	// the earliest time since when one of the eligible jobs could have run (its
	// eligible time, else its submit time). 0 when there is none. slurmctld's clock.
	OldestPending, OldestEligible slurm.Time

	// Every node record of the partition is in exactly one of these five:
	// BusyNodes have work (allocated, mixed, completing, or a job that is suspended or
	// being configured, draining or not) or are in an active reservation; IdleNodes
	// can start a job now; BootingNodes will in a moment (powering up, rebooting, not
	// responding yet); UnusableNodes are down, drained or failed and have no work;
	// OffNodes are powered down or FUTURE records: not there, but may come.
	BusyNodes, IdleNodes, BootingNodes, UnusableNodes, OffNodes uint64
	// PendingNodes is how many nodes the eligible pending jobs need beyond those that
	// are idle or booting. The sum over the partitions counts no job twice.
	PendingNodes uint64
	// RequiredNodes is BusyNodes + PendingNodes.
	RequiredNodes uint64

	// Unsatisfiable are the jobs that no node of this partition could run, so that
	// they ask for none here, sorted by reason. They are in ClassUnsatisfiable.
	Unsatisfiable []Unsatisfiable
}

// ReasonCount is a number of pending jobs.
type ReasonCount struct {
	// Reason is slurmctld's word for why they wait, "None" when it gives none. Reasons
	// go stale: Class is what they wait for by all that their records say.
	Reason string
	Class  Class
	Jobs   uint64
}

// Unsatisfiable is a number of jobs that a partition can not run.
type Unsatisfiable struct {
	// Reason is our words, one of a few constant texts: it fits a metric label.
	Reason string
	Jobs   uint64
	// JobID is the lowest id of them, as an example.
	JobID uint32
}

// Partition returns the partition with the name, or false.
func (d Demand) Partition(name string) (Partition, bool) {
	for _, p := range d.Partitions {
		if p.Name == name {
			return p, true
		}
	}
	return Partition{}, false
}

// Compute tells the demand that the snapshot shows. It is pure and total, and
// does not write to the snapshot.
//
// pools are what NodeSets offer; their order is of no consequence. Where pools serve
// a partition, its PendingNodes are new workers of theirs: a pool tells what nodes
// will be even at zero, and so Partitions may differ from those without pools.
//
// now is the caller's clock. The times of jobs are slurmctld's, whose clock may
// differ, so they are compared with an estimate of slurmctld's clock at now.
//
// Nodes and jobs are not read at the same moment. A job that began in between is counted
// once: on the node where it runs, though that looks idle yet, or as what waits, where the
// node has got work of which the list of jobs does not know (Snapshot.Earlier).
//
// Nodes asked for are found in three steps: each eligible job is given the shape
// of node that it needs fewest of, in the first pool that could run it; all of them
// are packed on new, empty nodes, and what a pool's Max leaves no room for goes on
// to the next pool; and what fits on the free nodes is taken off again. So a free
// node more, of a shape that the partition has, never raises PendingNodes.
func Compute(now time.Time, s *slurmclient.Snapshot, pools ...Pool) Demand {
	if s == nil || !s.Nodes.Known || !s.Jobs.Known || !s.Partitions.Known {
		return Demand{}
	}
	server := serverTime(now, s)
	c := newCluster(s, pools)
	c.noteReservations(s, server)
	q := tally(server, s, c)
	c.addNodes(s, server, q)
	p := newPlan(s, c, q.groups)
	p.limitsNodes, p.doubtsLimits = q.limits.limitsNodes, !knowsEnforcement(s) && !q.limits.told
	p.satisfy()
	q.limits.deal()
	p.withhold()
	p.count()
	p.pack()
	return Demand{Known: true, Partitions: c.results(), Pools: c.poolResults(), UnknownReasons: q.unknownReasons()}
}

// serverTime is slurmctld's clock at now, by our best knowledge. Statistics are
// never left out of an answer, so they tell how far its clock is ahead of ours;
// without them it is taken to be ours, but not earlier than what it has told. A clock
// that tells T is between T and T+1: it is taken to be at the end of its second, since
// what has just happened is not in the future.
func serverTime(now time.Time, s *slurmclient.Snapshot) slurm.Time {
	if at := s.Stats; at.Known && at.Value != nil && at.Value.At.IsSet() && !at.ReadAt.IsZero() {
		return slurm.At(now.Add((at.Value.At + 1).Time().Sub(at.ReadAt)))
	}
	return max(slurm.At(now), s.Nodes.ServerTime, s.Jobs.ServerTime, s.Partitions.ServerTime)
}

// Resources lists what Compute reads of a snapshot. Without nodes, jobs and partitions
// nothing is known; without the others what they tell is left out. Statistics are not
// among them: they tell only how slurmctld's clock goes.
func Resources() []slurmclient.Resource {
	return []slurmclient.Resource{
		slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations, slurmclient.Licenses,
		slurmclient.Associations, slurmclient.QOS, slurmclient.Conf,
	}
}
