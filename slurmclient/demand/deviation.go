package demand

import (
	"math/bits"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Deviation is something that a pending job asks for and that Slurm follows
// exactly, while demand only estimates it. docs/autoscaling.md says what demand does
// instead.
type Deviation string

// The deviations.
const (
	// DeviationFeatures is a feature expression that counts nodes or wants them alike,
	// such as "a*2&b*2" or "[a|b]".
	DeviationFeatures Deviation = "features"
	// DeviationReservation is a job that may only run inside a reservation.
	DeviationReservation Deviation = "reservation"
	// DeviationTopology is a job whose nodes must be neighbours (--contiguous).
	DeviationTopology Deviation = "topology"
	// DeviationGRES is generic resources that a job asks for in all (--gpus) or for each task
	// (--gpus-per-task) where slurmctld chooses how many nodes it has: from how many it will
	// not take them follows no rule that can be told.
	DeviationGRES Deviation = "gres"
	// DeviationHeterogeneous is a component of a heterogeneous job: slurmctld starts these in
	// backfill, and keeps whole nodes from others until it does.
	DeviationHeterogeneous Deviation = "heterogeneous"
	// DeviationLimits is a job under a limit of a QOS or an association that demand does not
	// follow: one in minutes, one of a type of generic resources where the job names none, one of
	// partitions of different QOS, or of licences of which one of several will do.
	DeviationLimits Deviation = "limits"
	// DeviationEnforcement is a job that a limit holds back where nothing tells whether slurmctld
	// enforces limits: slurmrestd does not before v0.0.45, and no job waits for a limit's reason.
	DeviationEnforcement Deviation = "enforcement"
	// DeviationTasks is a job whose tasks do not fit the CPUs that slurmctld takes of each node
	// under a partition's MaxCPUsPerNode. Where others leave odd numbers of CPUs they may fit.
	DeviationTasks Deviation = "tasks"
	// DeviationSharing is a job of a partition whose jobs may share cores (OverSubscribe): demand
	// counts a core once.
	DeviationSharing Deviation = "sharing"
	// DeviationFederation is a job that another cluster of the federation may run: it asks on
	// each of them.
	DeviationFederation Deviation = "federation"
	// DeviationUpcomingReservation is a job whose time limit ends after a reservation of nodes of
	// its partition begins: slurmctld starts it on other nodes only.
	DeviationUpcomingReservation Deviation = "upcoming_reservation"
	// DeviationSockets is generic resources for each socket.
	DeviationSockets Deviation = "sockets"
)

// Deviations returns every deviation, in the order in which they are shown.
func Deviations() []Deviation {
	return []Deviation{
		DeviationFeatures, DeviationReservation, DeviationSockets, DeviationTopology, DeviationGRES, DeviationHeterogeneous,
		DeviationLimits, DeviationTasks, DeviationSharing, DeviationFederation, DeviationUpcomingReservation,
		DeviationEnforcement,
	}
}

// deviations is a set of places in the list of Deviations.
type deviations uint16

// deviationsOf tells what of the job demand estimates, by its record alone.
func deviationsOf(j *slurm.Job) deviations {
	var set deviations
	if j.Features != "" && strings.ContainsAny(j.Features, "*[") {
		set |= hasFeatureCounts
	}
	if j.Reservation != "" {
		set |= isReserved
	}
	if j.TRESPerSocket != "" {
		set |= asksForSockets
	}
	if j.Contiguous {
		set |= isContiguous
	}
	if j.HetJobID != 0 {
		set |= isHeterogeneous
	}
	if strings.Contains(j.Siblings, ",") {
		set |= isFederated
	}
	return set
}

// The sets of one deviation each, in the order of Deviations.
const (
	hasFeatureCounts deviations = 1 << iota
	isReserved
	asksForSockets
	isContiguous
	dealsGRES
	isHeterogeneous
	isLimited
	isCut
	sharesCores
	isFederated
	meetsReservation
	mayBeUnenforced
)

// addUnmodelled counts so many jobs with the deviations.
func (d *PoolDemand) addUnmodelled(set deviations, jobs uint64) {
	if jobs == 0 {
		return
	}
	for ; set != 0; set &= set - 1 {
		if d.Unmodelled == nil {
			d.Unmodelled = map[Deviation]uint64{}
		}
		d.Unmodelled[Deviations()[bits.TrailingZeros16(uint16(set))]] += jobs
	}
}
