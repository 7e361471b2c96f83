package model

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Pool is a number of alike workers that can scale from Min to Max, such as a NodeSet.
type Pool struct {
	// Name is unique among the pools of one Compute: "namespace/name" of the NodeSet.
	//
	// A node record, including FUTURE ones, belongs to the pool that slurm-operator's comment on it
	// names. A record without such a comment belongs to the pool whose WorkerPrefix and Feature it
	// has, else to the pool whose Feature is its first feature. If pools share a Feature, it
	// identifies the pool whose name sorts first.
	Name string
	// Feature is a feature of all nodes of the pool. An empty Feature identifies no nodes.
	Feature string
	// WorkerPrefix is the prefix of the pool's node names before their ordinals, such as "gpu-".
	// Empty if names do not identify the pool.
	WorkerPrefix string
	// Partitions are the partitions that the pool's nodes will be in, also while it has no nodes.
	// Compute adds the partitions of its node records, and those whose node expression in
	// slurm.conf names a feature of its workers, or ALL.
	Partitions []string
	// Shape describes a new worker. If it is nil, new workers are like any of the pool's node records. Without records
	// they are unknown: every job is assumed to fit, and each new worker runs one job. Set Shape for a pool that is at
	// zero and has no FUTURE records. Otherwise a job that turns out not to fit requests new workers again each time the
	// pool has scaled to zero.
	Shape *Shape
	// Min and Max bound the number of workers. A Max of 0 means no known maximum.
	Min, Max uint64
	// Replicas is the desired number of workers: spec.replicas of the NodeSet. It distinguishes unusable nodes that occupy
	// the place of a worker from nodes that are being removed.
	Replicas uint64
	// ScaleInReasons are the drain reasons of workers that are being removed, each with at most one *, which stands for
	// any text. Nodes drained for one of them do not occupy a worker's place.
	ScaleInReasons []string
	// IdleGrace is how long an idle node counts as required. Nodes whose idle time is unknown have
	// no grace.
	IdleGrace time.Duration
	// ReservationLead is how long before the start of a reservation its nodes count as busy.
	ReservationLead time.Duration
}

// Shape is the resources of one worker.
type Shape struct {
	// CPUs is 0 if unknown. Each new worker then runs one job, of any size.
	CPUs uint64
	// MemoryMiB and TmpDiskMiB are 0 if unknown, which is assumed to be enough.
	MemoryMiB, TmpDiskMiB uint64
	// GRES is in Slurm's syntax, such as "gpu:h100:4"; empty without generic resources.
	GRES string
	// Features are the features besides the pool's own.
	Features []string
	// Weight is the node's weight in Slurm. Nodes of lower weight are used first.
	Weight uint32
	// ThreadsPerCore is the number of CPUs per core; 0 means 1.
	ThreadsPerCore uint64
}

// PoolDemand is the demand on one pool.
//
// Every pending job counts in all pools that serve one of its partitions, but it requests nodes in
// only one of them. Partitions are tried in the order of the job's list, and the pools of each by
// weight, then name. The job requests nodes in the first pool that could run it and has not reached
// its Max with the nodes of other jobs. If all have reached their Max, it is the first that could
// run the job.
type PoolDemand struct {
	// Name is the name of the pool. Partitions are the partitions that it serves, sorted.
	Name       string
	Partitions []string

	// Required is how many workers the pool needs now:
	//
	//	min(Max, max(Min, Busy + max(idle Claimed, Grace) + booting Claimed + Pending + Replacements))
	//
	// It is never less than Busy, even above Max, since a worker with work must stay. If Pending is more than 0, all of
	// Idle and Booting count, since new workers are added to them. If a job names a worker, Required is large enough to
	// include its ordinal. Workers that a reservation would keep from jobs do not count towards Max. If Pending exceeds
	// the room below Max, a new worker counts only if a job starts on it now. A job that waits for others to end keeps the
	// existing workers, and adds none.
	Required uint64

	// Every node record of the pool is in exactly one of these five numbers. They are as in
	// Partition, but nodes of a reservation that starts within ReservationLead are busy too, and
	// unusable nodes without a pod are off.
	Busy, Idle, Booting, Unusable, Off uint64
	// Pending is how many nodes the jobs that request nodes in this pool need beyond the idle and
	// booting ones. It ignores Max. The sum over the pools equals the sum of PendingNodes over
	// partitions that only pools serve, except for jobs that fit existing workers but not the Shape
	// of new ones.
	Pending uint64
	// Claimed is how many of Idle and Booting the eligible pending jobs are about to take.
	Claimed uint64
	// Grace is how many of Idle have been idle for less than the pool's IdleGrace.
	Grace uint64
	// Replacements are workers to run instead of unusable ones. A worker with an unusable node counts as a replica of the
	// NodeSet, but does no work. Nodes beyond Replicas are being removed and need no replacement, and neither does a pool
	// without demand.
	Replacements uint64

	// PendingJobs counts the pending jobs of the partitions that the pool serves, each once and an
	// array task as one job, whatever they wait for.
	PendingJobs uint64
	// EligiblePendingJobs counts the jobs that request nodes in this pool. No job counts in two
	// pools.
	EligiblePendingJobs uint64
	// ByClass splits PendingJobs by class; no entry is 0. ClassCapacity counts the jobs that more nodes of this or another
	// pool would help, and ClassUnsatisfiable counts the jobs of Unsatisfiable. Callers do not write to it.
	ByClass map[pending.Class]uint64
	// Unmodelled counts the jobs of PendingJobs that demand only estimates, by deviation. A job can
	// have several deviations. No entry is 0. Callers do not write to it.
	Unmodelled map[Deviation]uint64
	// Inexact is true when PendingJobs is a lower bound, see Partition.
	Inexact bool
	// OldestPending is the earliest submit time of PendingJobs. OldestEligible is the earliest time at which one of
	// EligiblePendingJobs could have run. Both are 0 without such jobs.
	OldestPending, OldestEligible slurm.Time

	// Unsatisfiable are the jobs that no pool and no node of their partitions could ever run, with
	// the reason why this pool cannot, sorted by reason. They request no nodes.
	Unsatisfiable []Unsatisfiable
}

// Pool returns the demand on the named pool, or false if it does not exist.
func (d Demand) Pool(name string) (PoolDemand, bool) {
	for _, p := range d.Pools {
		if p.Name == name {
			return p, true
		}
	}
	return PoolDemand{}, false
}
