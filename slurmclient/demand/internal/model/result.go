package model

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Demand is the number of nodes and workers that the queue needs.
type Demand struct {
	// Known is true once nodes, jobs and partitions have each been read. While it is false, no
	// other field has a meaning and Partitions and Pools are empty.
	Known bool
	// Partitions contains every partition of the snapshot, sorted by name.
	Partitions []Partition
	// Pools contains every pool that was passed to Compute, in the same order.
	Pools []PoolDemand
	// Overlap counts the jobs and nodes that are in several partitions.
	Overlap Overlap
	// UnknownReasons are the observed pending reasons that ClassOf does not know, sorted. Their
	// jobs are in ClassOther unless another field of the job record determines the class.
	UnknownReasons []string
}

// Partition is the demand on one partition. A job with several partitions counts as a job in each
// of them, and requests nodes in one: the first partition of its list whose nodes could run it.
type Partition struct {
	Name string

	// PendingJobs counts the pending jobs, whatever they wait for; an array task counts as one job. EligiblePendingJobs
	// counts the jobs of ClassCapacity, which more nodes would help.
	PendingJobs, EligiblePendingJobs uint64
	// PendingByReason splits PendingJobs by reason and class, sorted by reason, then class. All jobs add up to
	// PendingJobs, and the jobs of ClassCapacity add up to EligiblePendingJobs.
	PendingByReason []ReasonCount
	// Inexact is true when slurmctld truncated the task list of a job array, so that the counts of
	// pending jobs are lower bounds.
	Inexact bool
	// RunningJobs and SuspendedJobs count the jobs that occupy nodes.
	RunningJobs, SuspendedJobs uint64
	// OldestPending is the earliest submit time of the pending jobs. OldestEligible is the earliest
	// time at which an eligible job could have run: its eligible time, else its submit time. Both
	// are 0 when there is no such job, and are times of slurmctld's clock.
	OldestPending, OldestEligible slurm.Time

	// Every node record of the partition is in exactly one of these five numbers. BusyNodes do
	// work: they are allocated, mixed or completing, have a suspended or configuring job, whether
	// they drain or not, or are in an active reservation. IdleNodes can start a job now.
	// BootingNodes can start one soon: they power up, reboot, or do not respond yet. UnusableNodes
	// are down, drained or failed and do no work. OffNodes are powered down or FUTURE records: they
	// do not exist now, but can be added.
	BusyNodes, IdleNodes, BootingNodes, UnusableNodes, OffNodes uint64
	// PendingNodes is how many nodes the eligible pending jobs need beyond the idle and booting
	// ones. The sum over all partitions counts no job twice.
	PendingNodes uint64
	// RequiredNodes is BusyNodes + PendingNodes.
	RequiredNodes uint64

	// Unsatisfiable are the jobs that no node of this partition could run, sorted by reason. They
	// request no nodes here and are in ClassUnsatisfiable.
	Unsatisfiable []Unsatisfiable
}

// ReasonCount is the number of pending jobs of one reason and class.
type ReasonCount struct {
	// Reason is slurmctld's reason for the jobs to be pending, "None" if it sends no reason. Reasons go stale; Class is
	// derived from the whole records of the jobs.
	Reason string
	Class  pending.Class
	Jobs   uint64
}

// Unsatisfiable is the number of jobs that a partition or pool cannot run for one reason.
type Unsatisfiable struct {
	// Reason is one of a few constant texts of this package, suitable as a metric label.
	Reason string
	Jobs   uint64
	// JobID is the lowest ID of these jobs, as an example.
	JobID uint32
}

// Partition returns the demand on the named partition, or false if it does not exist.
func (d Demand) Partition(name string) (Partition, bool) {
	for _, p := range d.Partitions {
		if p.Name == name {
			return p, true
		}
	}
	return Partition{}, false
}

// ServerTime returns the best estimate of slurmctld's clock at now. Every response of slurmctld
// includes the time of its statistics, which gives the offset between the clocks. Without statistics
// the clocks are assumed to agree, except that slurmctld's clock is not earlier than any time it has
// reported. A reported second T means a time between T and T+1; the end of that second is used, so
// that what just happened is not in the future.
func ServerTime(now time.Time, s *slurmclient.Snapshot) slurm.Time {
	if at := s.Stats; at.Known && at.Value != nil && at.Value.At.IsSet() && !at.ReadAt.IsZero() {
		return slurm.At(now.Add((at.Value.At + 1).Time().Sub(at.ReadAt)))
	}
	return max(slurm.At(now), s.Nodes.ServerTime, s.Jobs.ServerTime, s.Partitions.ServerTime)
}
