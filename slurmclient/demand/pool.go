package demand

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Pool is what a NodeSet offers: a number of alike workers, from Min to Max.
type Pool struct {
	// Name is unique among the pools of one Compute: "namespace/name" of the NodeSet.
	//
	// A node record, FUTURE ones too, is of the pool whose name slurm-operator's comment
	// on it has. One without such a comment is of the pool whose Workers and Feature it
	// has, else of the one whose Feature is its first. A Feature that two pools share
	// marks nodes of the pool whose name comes first.
	Name string
	// Feature is the one that all of the pool's nodes have. Empty marks none.
	Feature string
	// Workers is what the names of the pool's nodes begin with, before their ordinals,
	// such as "gpu-". Empty: names do not tell.
	Workers string
	// Partitions are those that the pool's nodes will be in, also while it has none.
	// Compute adds those of its node records, and those whose node expression in
	// slurm.conf names a feature of its workers, or ALL.
	Partitions []string
	// Shape is what a new worker is. nil: like any of the pool's node records; when
	// there is none either, nothing is known, any job is taken to fit, and each new
	// worker has one. A pool that is at zero without FUTURE records had better have a
	// Shape: else a job that its workers turn out not to fit asks for some again
	// whenever they have gone.
	Shape *Shape
	// Min and Max bound the number of workers; a Max of 0 is none known.
	Min, Max uint64
	// Running is how many workers the pool is meant to have at this moment: a
	// NodeSet's spec.replicas. It tells unusable nodes that stand in the place of a
	// worker from those that are on their way out.
	Running uint64
	// LeavingReason is the reason of drains by which workers are taken out of service:
	// nodes drained for it stand in nobody's place. Empty: drains tell nothing of that.
	LeavingReason string
	// IdleGrace is how long an idle node counts as required. Nodes of which it is not
	// known since when they are idle have none.
	IdleGrace time.Duration
	// Lead is how long before a reservation starts its nodes count as busy.
	Lead time.Duration
}

// Shape is what one worker has for jobs.
type Shape struct {
	// CPUs of 0 are not known: each new worker has one job then, of any size.
	CPUs uint64
	// MemoryMiB and TmpDiskMiB of 0 are not known, and taken to be enough.
	MemoryMiB, TmpDiskMiB uint64
	// GRES is Slurm's text, such as "gpu:h100:4"; empty for none.
	GRES string
	// Features are those beside the pool's own.
	Features []string
	// Weight is the node's weight in Slurm; lighter nodes are used first.
	Weight uint32
	// ThreadsPerCore is how many of the CPUs one core has, 0 and 1 for one.
	ThreadsPerCore uint64
}

// PoolDemand is the demand on one pool.
//
// Every pending job counts in the pools that serve one of its partitions, but it
// asks for nodes in one: in the order of its partitions, and in each of them of the
// pools by weight, then name, in the first that could run it and has not reached
// its Max with what other jobs ask for. A job that finds all of them at their Max
// asks in the first that could run it.
type PoolDemand struct {
	// Name is the pool's, Partitions those that it serves, sorted.
	Name       string
	Partitions []string

	// Required is how many workers to run now:
	//
	//	min(Max, max(Min, Busy + max(idle Claimed, Grace) + booting Claimed + Pending + Replacements))
	//
	// but never less than Busy, be it more than Max: no worker with work is to go. Where
	// Pending is more than 0, all of Idle and Booting count, since new workers come beside
	// them; and where a job names a worker, as many count as it takes for that to be there.
	// Of Max those are left out that a reservation would keep from jobs. Where Pending is
	// more than Max leaves room for, only those new workers count on which a job starts now:
	// a job that waits until others end keeps the workers that are there, and adds none.
	Required uint64

	// Every node record of the pool is in exactly one of these five. They are as in
	// Partition, but nodes of a reservation that starts within Lead are busy as well.
	Busy, Idle, Booting, Unusable, Off uint64
	// Pending is how many nodes the jobs that ask in this pool need beyond those that
	// are idle or booting. It knows no Max: the sum over the pools is the sum of
	// PendingNodes over partitions that only pools serve, save nodes for jobs that fit
	// workers that are there, but not the Shape of new ones.
	Pending uint64
	// Claimed is how many of Idle and Booting eligible pending jobs are about to take.
	Claimed uint64
	// Grace is how many of Idle have been idle for less than the pool's IdleGrace.
	Grace uint64
	// Replacements are the workers to run in the place of unusable ones: a worker
	// whose node is unusable counts among the NodeSet's replicas and does no work. Nodes
	// beyond Running are on their way out and need none, nor does a pool that nobody
	// asks anything of.
	Replacements uint64

	// PendingJobs counts the pending jobs of the partitions that the pool serves,
	// each once, an array task as one job, whatever they wait for.
	PendingJobs uint64
	// EligiblePendingJobs counts the jobs that ask in this pool; no job counts in two.
	EligiblePendingJobs uint64
	// ByClass splits PendingJobs; no entry is 0. Its ClassCapacity part are those that
	// more nodes would help, of this pool or of another, its ClassUnsatisfiable part
	// those of Unsatisfiable. Callers do not write to it.
	ByClass map[Class]uint64
	// Unmodelled counts those of PendingJobs that ask for something which demand only
	// estimates, by what that is; a job may be in several. No entry is 0. Callers do not
	// write to it.
	Unmodelled map[Deviation]uint64
	// Inexact is true when PendingJobs is a lower bound, see Partition.
	Inexact bool
	// OldestPending is the earliest submit time in PendingJobs, OldestEligible the
	// earliest time since when one of EligiblePendingJobs could have run. 0 for none.
	OldestPending, OldestEligible slurm.Time

	// Unsatisfiable are the jobs that neither this pool nor any other nor the nodes of
	// their partitions could ever run, with what this one lacks, sorted by reason. They
	// ask for nothing.
	Unsatisfiable []Unsatisfiable
}

// Pool returns the demand on the pool with the name, or false.
func (d Demand) Pool(name string) (PoolDemand, bool) {
	for _, p := range d.Pools {
		if p.Name == name {
			return p, true
		}
	}
	return PoolDemand{}, false
}
