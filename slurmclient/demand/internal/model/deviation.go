package model

import (
	"math/bits"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Deviation is a request of a pending job that Slurm follows exactly, while demand only estimates
// it. docs/autoscaling.md describes what demand does instead.
type Deviation string

// The deviations.
const (
	// DeviationFeatures is a feature expression that counts nodes or requires alike nodes, such as
	// "a*2&b*2" or "[a|b]".
	DeviationFeatures Deviation = "features"
	// DeviationReservation is a job that can only run inside a reservation.
	DeviationReservation Deviation = "reservation"
	// DeviationTopology is a job whose nodes must be adjacent (--contiguous).
	DeviationTopology Deviation = "topology"
	// DeviationGRES is a request of generic resources for the whole job (--gpus) or per task
	// (--gpus-per-task) where slurmctld chooses the number of nodes. How it distributes them
	// follows no rule that demand could reproduce.
	DeviationGRES Deviation = "gres"
	// DeviationHeterogeneous is a component of a heterogeneous job. slurmctld starts these jobs in
	// backfill, and keeps whole nodes from other jobs until then.
	DeviationHeterogeneous Deviation = "heterogeneous"
	// DeviationLimits marks a job under a limit of a QOS or an association that demand does not follow:
	//
	//   - a limit in minutes;
	//   - a limit on a type of generic resources if the job requests no type;
	//   - a limit of partitions with different QOS;
	//   - a limit on licenses if the job needs only one of several, or on a hierarchical resource, whose layers belong to nodes.
	DeviationLimits Deviation = "limits"
	// DeviationEnforcement is a job that a limit would hold back where it is unknown whether
	// slurmctld enforces limits: slurmrestd does not report it before v0.0.45, and no job is
	// pending for a limit.
	DeviationEnforcement Deviation = "enforcement"
	// DeviationTasks is a job whose tasks do not fit the CPUs that slurmctld allocates on each node
	// under a partition's MaxCPUsPerNode. They can fit where other jobs leave odd numbers of CPUs.
	DeviationTasks Deviation = "tasks"
	// DeviationSharing is a job in a partition whose jobs can share cores (OverSubscribe). Demand
	// counts each core once.
	DeviationSharing Deviation = "sharing"
	// DeviationFederation is a job that another cluster of the federation could run. It requests
	// nodes in each of these clusters.
	DeviationFederation Deviation = "federation"
	// DeviationUpcomingReservation is a job whose time limit ends after a reservation of nodes of
	// its partition starts. slurmctld starts it on other nodes only.
	DeviationUpcomingReservation Deviation = "upcoming_reservation"
	// DeviationSockets is a request of generic resources per socket.
	DeviationSockets Deviation = "sockets"
	// DeviationNames is a job that requires or excludes nodes by name, where the lists of all jobs are too long together. Its
	// lists do not count.
	DeviationNames Deviation = "names"
	// DeviationBudget is a job beyond the work budget of the estimate: the queue is too long and too unlike to compare every job with
	// every kind of node.
	DeviationBudget Deviation = "budget"
)

// Deviations returns every deviation, in display order.
func Deviations() []Deviation {
	return []Deviation{
		DeviationFeatures, DeviationReservation, DeviationSockets, DeviationTopology, DeviationGRES,
		DeviationHeterogeneous,
		DeviationLimits, DeviationTasks, DeviationSharing, DeviationFederation, DeviationUpcomingReservation,
		DeviationEnforcement, DeviationNames, DeviationBudget,
	}
}

// deviationSet is a set of deviations, one bit for each index of Deviations.
type deviationSet uint16

// deviationsOf returns the deviations that follow from the job record.
func deviationsOf(j *slurm.Job) deviationSet {
	var set deviationSet
	if j.Features() != "" && strings.ContainsAny(j.Features(), "*[") {
		set |= hasFeatureCounts
	}
	if j.Reservation() != "" {
		set |= isReserved
	}
	if j.TRESPerSocket() != "" {
		set |= requestsSockets
	}
	if j.Contiguous() {
		set |= isContiguous
	}
	if j.HetJobID != 0 {
		set |= IsHeterogeneous
	}
	if strings.Contains(j.Siblings(), ",") {
		set |= IsFederated
	}
	return set
}

// One bit per deviation, in the order of Deviations.
const (
	hasFeatureCounts deviationSet = 1 << iota
	isReserved
	requestsSockets
	isContiguous
	HasSpreadGRES
	IsHeterogeneous
	IsLimited
	HasCutTasks
	SharesCores
	IsFederated
	OverlapsReservation
	MayBeUnenforced
	NamesTooMany
	ExceedsBudget
)

// DeviationCounts is a number of jobs per deviation, by the index of Deviations.
type DeviationCounts [16]uint64

// Add counts jobs with the deviations.
func (c *DeviationCounts) Add(set deviationSet, jobs uint64) {
	for ; set != 0; set &= set - 1 {
		c[bits.TrailingZeros16(uint16(set))] += jobs
	}
}

// AddUnmodelled counts jobs with deviations in the pool.
func (d *PoolDemand) AddUnmodelled(counts *DeviationCounts) {
	for i, deviation := range Deviations() {
		if counts[i] == 0 {
			continue
		}
		if d.Unmodelled == nil {
			d.Unmodelled = map[Deviation]uint64{}
		}
		d.Unmodelled[deviation] += counts[i]
	}
}
