package slurm

import (
	"math/bits"
	"slices"
	"strings"
)

// JobBase is the base state of a job (squeue(1), "JOB STATE CODES"). A job has exactly one.
type JobBase uint8

// The base states of a job. JobUnknown is a base state that this version of the library does not know.
const (
	JobUnknown JobBase = iota
	JobPending
	JobRunning
	JobSuspended
	JobCompleted
	JobCancelled
	JobFailed
	JobTimeout
	JobNodeFail
	JobPreempted
	JobBootFail
	JobDeadline
	JobOutOfMemory
)

var jobBases = [...]string{
	"UNKNOWN", "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED",
	"TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}

// JobBases returns every base state of a job, JobUnknown first.
func JobBases() []JobBase { return listBases[JobBase](len(jobBases)) }

// String returns Slurm's name of the state.
func (b JobBase) String() string { return nameOf(jobBases[:], int(b)) }

// Finished reports whether a job in this state will not run again.
func (b JobBase) Finished() bool { return b >= JobCompleted }

// JobFlags are the flags of a job in addition to its base state.
type JobFlags uint32

// The flags of a job. JobOther represents every flag that this library does not know.
const (
	JobLaunchFailed JobFlags = 1 << iota
	JobRequeued
	JobRequeueHold
	JobSpecialExit
	JobResizing
	JobConfiguring
	JobCompleting
	JobStopped
	JobReconfigFail
	JobPowerUpNode
	JobRevoked
	JobRequeueFed
	JobReservationDelHold
	JobSignaling
	JobStageOut
	JobExpediting
	JobOther
)

var jobFlags = [...]string{
	"LAUNCH_FAILED", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESIZING", "CONFIGURING",
	"COMPLETING", "STOPPED", "RECONFIG_FAIL", "POWER_UP_NODE", "REVOKED", "REQUEUE_FED",
	"RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "EXPEDITING", "OTHER",
}

// JobState is a job's base state with its flags.
type JobState struct {
	Base  JobBase
	Flags JobFlags
}

// ParseJobState parses the names that slurmrestd lists, in any order. Unknown names set JobOther, so
// that they are not lost.
func ParseJobState(names ...string) JobState {
	var s JobState
	for _, n := range names {
		if i := indexOf(jobBases[:], n); i >= 0 {
			s.Base = JobBase(i)
			continue
		}
		if i := indexOf(jobFlags[:], n); i >= 0 {
			s.Flags |= 1 << i
			continue
		}
		s.Flags |= JobOther
	}
	return s
}

// Has reports whether all of the flags are set.
func (s JobState) Has(f JobFlags) bool { return s.Flags&f == f }

// Names lists Slurm's names of the base state and the flags.
func (s JobState) Names() []string {
	return append([]string{s.Base.String()}, flagNames(jobFlags[:], uint64(s.Flags))...)
}

// String joins the names with "+", as squeue does.
func (s JobState) String() string { return strings.Join(s.Names(), "+") }

// NodeBase is the base state of a node (sinfo(1), "NODE STATE CODES").
type NodeBase uint8

// The base states of a node. NodeUnknown is Slurm's UNKNOWN and also every base state that this
// library does not know.
const (
	NodeUnknown NodeBase = iota
	NodeDown
	NodeIdle
	NodeAllocated
	NodeError
	NodeMixed
	NodeFuture
	NodeExternal
)

var nodeBases = [...]string{"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "EXTERNAL"}

// NodeBases returns every base state of a node, NodeUnknown first.
func NodeBases() []NodeBase { return listBases[NodeBase](len(nodeBases)) }

// String returns Slurm's name of the state.
func (b NodeBase) String() string { return nameOf(nodeBases[:], int(b)) }

// NodeFlags are the flags of a node in addition to its base state.
type NodeFlags uint64

// The flags of a node. NodeOther represents every flag that this library does not know.
const (
	NodeDrain NodeFlags = 1 << iota
	NodeCompleting
	NodeNotResponding
	NodeFail
	NodeMaintenance
	NodeReserved
	NodePlanned
	NodeRebootRequested
	NodeRebootIssued
	NodeRebootCanceled
	NodeReboot
	NodePoweredDown
	NodePoweringDown
	NodePoweringUp
	NodePowerDown
	NodePowerUp
	NodePowerDrain
	NodePoweringDrain
	NodeCloud
	NodeDynamicNorm
	NodeDynamicFuture
	NodeInvalid
	NodeInvalidReg
	NodeBlocked
	NodeUndrain
	NodeResume
	NodePerfCtrs
	NodeExternalFlag
	NodeOther
)

var nodeFlags = [...]string{
	"DRAIN", "COMPLETING", "NOT_RESPONDING", "FAIL", "MAINTENANCE", "RESERVED", "PLANNED",
	"REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT_CANCELED", "REBOOT", "POWERED_DOWN",
	"POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP", "POWER_DRAIN", "POWERING_DRAIN",
	"CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "INVALID", "INVALID_REG", "BLOCKED", "UNDRAIN",
	"RESUME", "PERFCTRS", "EXTERNAL", "OTHER",
}

// NextState is the state that a node is to have after its reboot, as "scontrol reboot nextstate=" says.
type NextState uint8

// The states after a reboot. Unset stands for the state that the node had before.
const (
	NextStateUnset NextState = iota
	NextStateResume
	NextStateDown
)

// NodeState is a node's base state with its flags.
type NodeState struct {
	Base  NodeBase
	Flags NodeFlags
}

// ParseNodeState parses the names that slurmrestd lists, in any order. Unknown names set NodeOther, so
// that they are not lost.
func ParseNodeState(names ...string) NodeState {
	var s NodeState
	for _, n := range names {
		if i := indexOf(nodeBases[:], n); i >= 0 {
			s.Base = NodeBase(i)
			continue
		}
		if i := indexOf(nodeFlags[:], n); i >= 0 {
			s.Flags |= 1 << i
			continue
		}
		s.Flags |= NodeOther
	}
	return s
}

// Has reports whether all of the flags are set.
func (s NodeState) Has(f NodeFlags) bool { return s.Flags&f == f }

// Any reports whether at least one of the flags is set.
func (s NodeState) Any(f NodeFlags) bool { return s.Flags&f != 0 }

// Drained reports whether the node is drained and no job is left on it: it has the DRAIN flag, its base
// state is IDLE or DOWN, and it is not COMPLETING.
func (s NodeState) Drained() bool {
	return s.Has(NodeDrain) && (s.Base == NodeIdle || s.Base == NodeDown) && !s.Has(NodeCompleting)
}

// Draining reports whether the node has the DRAIN flag and jobs are left on it.
func (s NodeState) Draining() bool { return s.Has(NodeDrain) && s.Busy() }

// Allocated reports whether resources of the node are allocated to jobs.
func (s NodeState) Allocated() bool { return s.Base == NodeAllocated || s.Base == NodeMixed }

// Busy reports whether the state shows that jobs run on the node or are completing there. Suspended
// jobs do not show in it.
func (s NodeState) Busy() bool { return s.Allocated() || s.Has(NodeCompleting) }

// MayHaveJobs reports whether the state does not rule out that jobs run on the node or are completing
// there. Only IDLE, DOWN and FUTURE do, without COMPLETING; an unknown state never does.
func (s NodeState) MayHaveJobs() bool {
	switch s.Base {
	case NodeIdle, NodeDown, NodeFuture:
		return s.Has(NodeCompleting)
	}
	return true
}

// Names lists Slurm's names of the base state and the flags.
func (s NodeState) Names() []string {
	return append([]string{s.Base.String()}, flagNames(nodeFlags[:], uint64(s.Flags))...)
}

// String joins the names with "+", as sinfo does.
func (s NodeState) String() string { return strings.Join(s.Names(), "+") }

// PartitionState is whether a partition accepts and starts jobs (scontrol(1)).
type PartitionState string

// The states of a partition.
const (
	PartitionUp       PartitionState = "UP"
	PartitionDown     PartitionState = "DOWN"
	PartitionDrain    PartitionState = "DRAIN"
	PartitionInactive PartitionState = "INACTIVE"
	PartitionUnknown  PartitionState = "UNKNOWN"
)

func indexOf(names []string, n string) int {
	for i, x := range names {
		if x == n {
			return i
		}
	}
	return -1
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "UNKNOWN"
}

func flagNames(names []string, set uint64) []string {
	var out []string
	for ; set != 0; set &= set - 1 {
		out = append(out, nameOf(names, bits.TrailingZeros64(set)))
	}
	return out
}

func listBases[T ~uint8](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(i)
	}
	return out
}

// NodeFlagNames returns Slurm's names of the flags of a node in the order of their bits.
func NodeFlagNames() []string { return slices.Clone(nodeFlags[:]) }

// JobFlagNames returns Slurm's names of the flags of a job in the order of their bits.
func JobFlagNames() []string { return slices.Clone(jobFlags[:]) }
