package demand

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// What Compute is asked.
type (
	// Pool is a NodeSet to scale: nodes that are alike and can be added.
	Pool = model.Pool
	// Shape is the resources of a new worker of a pool.
	Shape = model.Shape
)

// What Compute answers.
type (
	// Demand is the number of nodes and workers that the queue needs.
	Demand = model.Demand
	// Partition is the demand on one partition.
	Partition = model.Partition
	// PoolDemand is the demand on one pool.
	PoolDemand = model.PoolDemand
	// ReasonCount is the number of pending jobs of one reason and class.
	ReasonCount = model.ReasonCount
	// Unsatisfiable is the number of jobs that a partition or pool cannot run for one reason.
	Unsatisfiable = model.Unsatisfiable
	// SharedCount is how many jobs or nodes several partitions have in common.
	SharedCount = model.SharedCount
)

// Deviation is a request of a pending job that Slurm follows exactly, while demand only estimates
// it. docs/autoscaling.md describes what demand does instead.
type Deviation = model.Deviation

// The deviations.
const (
	DeviationFeatures            = model.DeviationFeatures
	DeviationReservation         = model.DeviationReservation
	DeviationTopology            = model.DeviationTopology
	DeviationGRES                = model.DeviationGRES
	DeviationHeterogeneous       = model.DeviationHeterogeneous
	DeviationLimits              = model.DeviationLimits
	DeviationEnforcement         = model.DeviationEnforcement
	DeviationTasks               = model.DeviationTasks
	DeviationSharing             = model.DeviationSharing
	DeviationFederation          = model.DeviationFederation
	DeviationUpcomingReservation = model.DeviationUpcomingReservation
	DeviationSockets             = model.DeviationSockets
	DeviationNames               = model.DeviationNames
	DeviationBudget              = model.DeviationBudget
)

// Deviations returns every deviation, in display order.
func Deviations() []Deviation { return model.Deviations() }

// ExcessCount returns by how much a sum over the chosen partitions is too high, because jobs or nodes are
// in several of them.
func ExcessCount(sets []SharedCount, chosen map[string]bool) uint64 {
	return model.ExcessCount(sets, chosen)
}

// ServerTime returns the best estimate of slurmctld's clock at now.
func ServerTime(now time.Time, s *slurmclient.Snapshot) slurm.Time { return model.ServerTime(now, s) }

// NodesOf returns the nodes that belong to the named pool, which is one of pools.
func NodesOf(name string, nodes []*slurm.Node, pools []Pool) []*slurm.Node {
	return model.NodesOf(name, nodes, pools)
}
