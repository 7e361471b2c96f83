package plan

import "time"

// Verb is the kind of a step.
type Verb string

// Verbs of steps.
const (
	// CreatePod creates the pod of Slot.
	CreatePod Verb = "create"
	// AdoptPod adds the missing owners of Pod.
	AdoptPod Verb = "adopt"
	// Annotate writes DrainMark on Pod.
	Annotate Verb = "annotate"
	// Drain drains SlurmName, with Reason.
	Drain Verb = "drain"
	// AddDrain adds DRAIN to SlurmName, which others set DOWN or FAIL. Their reason stays.
	AddDrain Verb = "add-drain"
	// Undrain undoes our drain of SlurmName.
	Undrain Verb = "undrain"
	// Resume returns SlurmName, which went down with an earlier pod, to service.
	Resume Verb = "resume"
	// ClearReason removes our reason from SlurmName, which is in service.
	ClearReason Verb = "clear-reason"
	// ClearPod removes the pod from the comment of SlurmName, which no longer has one.
	ClearPod Verb = "clear-pod"
	// DeletePod deletes Pod if it has not changed since its observation.
	DeletePod Verb = "delete"
	// MarkFuture sets the record SlurmName, which has no pod, to FUTURE.
	MarkFuture Verb = "mark-future"
	// DeleteRecord deletes the record SlurmName, which has no pod.
	DeleteRecord Verb = "delete-record"
	// RecreateRecord deletes the record SlurmName, which is FUTURE, and creates it with the shape of the NodeSet.
	RecreateRecord Verb = "recreate-record"
	// CreateRecords creates FUTURE records of Names, with the shape of Revision, or of the NodeSet if that is empty.
	CreateRecords Verb = "create-records"
	// AdoptRecords writes the owner, the shape, the features and the GRES on Names, FUTURE records of the NodeSet
	// that lack them.
	AdoptRecords Verb = "adopt-records"
)

// Precondition is what a read of the Slurm node right before the step must show. Since the reading of the plan, an administrator may
// have drained the node, or a job may have started.
type Precondition string

// Preconditions of steps.
const (
	// NoPrecondition: the step concerns no Slurm node, nothing of the pod runs, or the drain policy
	// requires it.
	NoPrecondition Precondition = ""
	// PreconditionDrained: the node has DRAIN and no work.
	PreconditionDrained Precondition = "drained"
	// PreconditionDrainedByUs: the node has DRAIN with our reason, and no work.
	PreconditionDrainedByUs Precondition = "drained by us"
	// PreconditionFaultDrained: Slurm or a health check drained the node, which has no work.
	PreconditionFaultDrained Precondition = "drained for a fault"
	// PreconditionFault: Slurm or a health check took the node out of service.
	PreconditionFault Precondition = "out of service for a fault"
	// PreconditionRebooting: slurmctld asked to reboot the node, which has no work.
	PreconditionRebooting Precondition = "rebooting"
	// PreconditionHeld: others took the node out of service.
	PreconditionHeld Precondition = "out of service by others"
	// PreconditionUnregistered: Slurm does not know the node, or only as FUTURE.
	PreconditionUnregistered Precondition = "unregistered"
	// PreconditionNameFree: no slurmd runs with the node's name, or it is drained and has no work.
	PreconditionNameFree Precondition = "name free"
	// PreconditionJoinable: as PreconditionNameFree; an existing record accepts a worker of the NodeSet's shape and has its GRES.
	PreconditionJoinable Precondition = "joinable"
	// PreconditionUndrained: the node is not drained, and others did not set it DOWN or FAIL.
	PreconditionUndrained Precondition = "undrained"
	// PreconditionDownByOthers: others set the node DOWN or FAIL, and it has no DRAIN.
	PreconditionDownByOthers Precondition = "down by others"
	// PreconditionFuture: the node is FUTURE.
	PreconditionFuture Precondition = "future"
	// PreconditionStillFuture: the node is FUTURE, or Slurm does not know it, while the timeout of the drain policy runs.
	PreconditionStillFuture Precondition = "still future"
	// PreconditionUndrainable: the node is drained with our reason and not down. Undraining a node
	// that is down would lose the reason and leave it down.
	PreconditionUndrainable Precondition = "undrainable"
	// PreconditionOurReason: the node is out of service with our reason.
	PreconditionOurReason Precondition = "our reason"
	// PreconditionNotServed: the slurmd of the node does not run in the pod.
	PreconditionNotServed Precondition = "not served by the pod"
	// PreconditionLeftoverReason: the node is in service and still has our reason.
	PreconditionLeftoverReason Precondition = "leftover reason"
)

// IsMetBy reports whether the record meets the precondition; nil stands for a node that Slurm does
// not know.
func (l Precondition) IsMetBy(r *Record) bool {
	switch l {
	case NoPrecondition:
		return true
	case PreconditionUnregistered, PreconditionStillFuture:
		return r == nil || r.Future
	case PreconditionFuture:
		return r != nil && r.Future
	case PreconditionNameFree:
		return r.isNameFree()
	case PreconditionJoinable:
		return r.isNameFree() && (r == nil || acceptsWorker(*r) && !r.LacksGRES)
	}
	if r == nil || r.Future {
		return false
	}
	switch l {
	case PreconditionDrained:
		return r.Drain && !r.Busy
	case PreconditionDrainedByUs:
		return r.Drain && !r.Busy && !r.OutOfServiceByOthers()
	case PreconditionFaultDrained:
		return (r.Drain || r.Rebooting) && !r.Busy && r.HasFault()
	case PreconditionRebooting:
		return r.Rebooting && !r.Busy
	case PreconditionFault:
		return r.HasFault()
	case PreconditionHeld:
		return r.OutOfServiceByOthers()
	case PreconditionUndrained:
		return !r.Drain && !r.DownByOthers
	case PreconditionDownByOthers:
		return r.DownByOthers && !r.Drain
	case PreconditionUndrainable:
		return r.Drain && !r.OutOfServiceByOthers() && !r.Down
	case PreconditionOurReason:
		return r.OurReason && !r.OutOfServiceByOthers()
	case PreconditionLeftoverReason:
		return r.hasLeftoverReason()
	}
	return false
}

// isNameFree reports whether no slurmd runs with the name of a node, or the node is drained and has no work.
func (r *Record) isNameFree() bool {
	return r == nil || r.Future || !r.Busy && (r.Drain || r.Down && !r.NotResponding)
}

// Step is one write.
type Step struct {
	Verb Verb
	Slot Slot
	// Revision is the source of a new worker or its record: the newest revision, or the one that its ordinal keeps.
	Revision     string
	Pod, UID     string
	SlurmName    string
	DrainMark    DrainMark
	Precondition Precondition
	// PodScheduled is when the pod was scheduled, for PreconditionNotServed.
	PodScheduled time.Time
	// FaultAt is when the fault was set that a Resume ends, zero for other steps.
	FaultAt time.Time
	// Reason is the text for an event. For a drain it is Slurm's drainReason.
	Reason string
	Names  []string
}

// IsMetBy reports whether the record meets the precondition of the step, and has no fault besides the one that the step ends. nil
// stands for a node that Slurm does not know. A record that has since got a foreign comment meets none, unless a worker has it.
func (s *Step) IsMetBy(r *Record) bool {
	if r != nil && r.ForeignComment && s.Pod == "" {
		return false
	}
	if s.Precondition == PreconditionNotServed {
		return r == nil || !r.mayBeServedBy(s.Pod, s.PodScheduled)
	}
	return s.Precondition.IsMetBy(r) && (s.FaultAt.IsZero() || r != nil && r.FaultAt.Equal(s.FaultAt))
}

// BlockReason is the reason why a worker to remove stays although no work on it is known.
type BlockReason string

// Reasons that keep a worker.
const (
	// NotBlocked: nothing but its drain or its work delays the worker.
	NotBlocked BlockReason = ""
	// BlockedByStaleReading: no fresh reading of Slurm exists.
	BlockedByStaleReading BlockReason = "unread"
	// BlockedByRegistration: the worker is not registered with Slurm.
	BlockedByRegistration BlockReason = "unregistered"
)

// Wait is a worker to remove that cannot be removed yet.
type Wait struct {
	Pod, SlurmName string
	Cause          string
	// Message explains the wait to users. BlockReason is set if something other than work keeps the worker. Job is the last of its Jobs
	// to end, and Until is its time limit; both are zero if unknown.
	Message     string
	BlockReason BlockReason
	Job         uint32
	Jobs        int
	Until       time.Time
}

// KeptName is the Slurm node name of an ordinal that the worker of another ordinal has, and keeps.
type KeptName struct {
	Ordinal        int
	SlurmName, Pod string
}

// Actions is the result of a plan.
type Actions struct {
	// Steps are in order. When a step fails, later steps for the same pod or Slurm node are
	// skipped, and no others.
	Steps []Step
	Waits []Wait
	// Outdated counts the workers of an old revision, Leaving the workers that are removed for good, and Available the workers in
	// service.
	Outdated, Leaving, Available int
	// NodesToUpdate are the Slurm nodes of the outdated workers, except those in WithoutSuccessor.
	NodesToUpdate []string
	// WithoutSuccessor are the Slurm nodes of the outdated workers that are not updated, since the workers that would take their places
	// can have no name. SuccessorProblem is why, of one of them.
	WithoutSuccessor []string
	SuccessorProblem string
	// UnknownToSlurm are the pods whose slurmd has long been running while Slurm does not list them
	// at all. They may have jobs that slurmctld lost, so they stay.
	UnknownToSlurm []string
	// LostBySlurm are the pods whose slurmd was registered and whose record Slurm has lost since. They may
	// have jobs that slurmctld lost, so they stay.
	LostBySlurm []string
	// AskedByHand are the pods in LostBySlurm without an agent: a user must ask their slurmd to register again.
	AskedByHand []string
	// OwnerUnknown are the Slurm nodes that respond, or have a comment of others, and no owner in it. No worker
	// is created with their names.
	OwnerUnknown []string
	// Taken are the Slurm nodes without a pod on which slurmd may still run. No worker is created with
	// their names, and their claims are kept.
	Taken []string
	// Displaced reports that workers are deleted before their slurmd runs, because others own their Slurm node.
	Displaced bool
	// Reserved are the names that workers would have, but slurm.conf gives to another object.
	Reserved []string
	// Namesakes are the Kubernetes nodes without a worker whose Slurm node name belongs to another one.
	Namesakes []Namesake
	// InvalidNames are the Kubernetes nodes without a worker whose Slurm node name is invalid.
	InvalidNames []string
	// KeptNames are the names that workers of other ordinals keep, so that no worker can be created with them.
	KeptNames []KeptName
	// AwaitsReading reports that a pod has just disappeared, and that only the next reading of Slurm
	// shows whether its name is taken.
	AwaitsReading bool
	// Surplus are the FUTURE records that the NodeSet no longer wants; empty while it is being deleted. KeptRecords are the records
	// that should be deleted but stay, with the reason.
	Surplus     Surplus
	KeptRecords map[string]string
	// OldShapes are the wanted FUTURE records that keep another shape, with the reason.
	OldShapes map[string]string
	// SlurmCluster is the change to the NodeSet's record of the Slurm cluster that its workers joined.
	SlurmCluster SlurmClusterChange
	// Reservation is the change to the reservation of a scheduled update.
	Reservation ReservationChange
	// Cordons are the changes to Kubernetes nodes, by name.
	Cordons []CordonChange
	// Revisions are the changes to revisions, adoptions first. The others come before all steps.
	Revisions []RevisionChange
	// Claims are the changes to claims, deletions last.
	Claims []ClaimChange
	// DeletionDone reports that the NodeSet is being deleted and that nothing of it is left.
	DeletionDone bool
	// RequeueAfter is when to plan again if nothing changes, 0 for never.
	RequeueAfter time.Duration
}
