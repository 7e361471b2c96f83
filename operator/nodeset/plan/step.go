package plan

import "time"

// Verb is what a step does.
type Verb string

// The verbs.
const (
	// Create makes the pod of Slot.
	Create Verb = "create"
	// Adopt ties Pod to the NodeSet and its namespace.
	Adopt Verb = "adopt"
	// Notes writes Note on Pod.
	Notes Verb = "note"
	// Drain drains SlurmName, with Reason.
	Drain Verb = "drain"
	// Close adds DRAIN to SlurmName, which somebody else set DOWN or FAIL. Their reason stays.
	Close Verb = "close"
	// Undrain takes our drain of SlurmName back.
	Undrain Verb = "undrain"
	// Resume puts SlurmName, that went down with a pod before, back into service.
	Resume Verb = "resume"
	// Unmark takes a reason of ours away from SlurmName, that is in service.
	Unmark Verb = "unmark"
	// Delete deletes Pod, which must still be as it was seen.
	Delete Verb = "delete"
	// Retire turns the record SlurmName, that has no pod, to FUTURE.
	Retire Verb = "retire"
	// Forget deletes the record SlurmName, that has no pod.
	Forget Verb = "forget"
	// Records makes FUTURE records of Names.
	Records Verb = "record"
)

// Look is what a last look at the Slurm node must find right before the step: since
// the reading that the plan rests on, somebody may have drained it, or a job started.
type Look string

// The looks.
const (
	// LookAtNothing: no Slurm node is concerned, nothing of the pod runs, or the policy
	// says so.
	LookAtNothing Look = ""
	// LookDrained: it has DRAIN and no work.
	LookDrained Look = "drained"
	// LookDrainedByUs: the same, with a reason of ours.
	LookDrainedByUs Look = "drained by us"
	// LookUnregistered: Slurm does not know it, or as FUTURE.
	LookUnregistered Look = "unregistered"
	// LookUndrained: it is neither drained nor held by somebody else.
	LookUndrained Look = "undrained"
	// LookHeld: somebody else set it DOWN or FAIL, and it has no DRAIN.
	LookHeld Look = "held"
	// LookFuture: Slurm has it as FUTURE.
	LookFuture Look = "future"
	// LookUndrainable: it is drained with a reason of ours, and not down, since that
	// would lose the reason and leave it down.
	LookUndrainable Look = "undrainable"
	// LookOurs: it is out of service with a reason of ours.
	LookOurs Look = "ours"
	// LookLeftOver: it is in service, with a reason of ours still.
	LookLeftOver Look = "left over"
)

// Passes reports whether the record, nil for none, is what the look must find.
func (l Look) Passes(r *Record) bool {
	switch l {
	case LookAtNothing:
		return true
	case LookUnregistered:
		return r == nil || r.Future
	case LookFuture:
		return r != nil && r.Future
	}
	if r == nil || r.Future {
		return false
	}
	switch l {
	case LookDrained:
		return r.Drain && !r.Busy
	case LookDrainedByUs:
		return r.Drain && !r.Busy && !r.Foreign()
	case LookUndrained:
		return !r.Drain && !r.Held
	case LookHeld:
		return r.Held && !r.Drain
	case LookUndrainable:
		return r.Drain && !r.Foreign() && !r.Down
	case LookOurs:
		return r.Ours && !r.Foreign()
	case LookLeftOver:
		return r.leftOver()
	}
	return false
}

// Step is one write.
type Step struct {
	Verb      Verb
	Slot      Slot
	Pod, UID  string
	SlurmName string
	Note      Note
	Look      Look
	// Reason is why, for an event; of a drain it is Slurm's drainReason.
	Reason string
	Names  []string
}

// Block is what keeps a worker that is to go, though no work on it is known of.
type Block string

// The blocks.
const (
	// NotBlocked: it takes its course.
	NotBlocked Block = ""
	// Unread: there is no fresh reading of Slurm.
	Unread Block = "unread"
	// Unregistered: Slurm does not know its node.
	Unregistered Block = "unregistered"
)

// Wait is a worker that is to go and does not yet.
type Wait struct {
	Pod, SlurmName string
	Cause          string
	// Why is for people, Block what keeps it beside work. Job is the one whose end is waited for, with Jobs in all, and
	// Until when its time limit ends, zero for not known.
	Why   string
	Block Block
	Job   uint32
	Jobs  int
	Until time.Time
}

// Todo is what is to be done.
type Todo struct {
	// Steps are in order. A step that fails keeps the later ones about the same pod or
	// Slurm node from being taken, and no others.
	Steps []Step
	Waits []Wait
	// Outdated counts the workers of an old revision, Exits those that are to go for
	// good, Available those in service.
	Outdated, Exits, Available int
	// Lost are the pods whose slurmd has run for long and that Slurm does not list at all:
	// they may have jobs that slurmctld lost, and stay.
	Lost []string
	// Unclaimed are the Slurm nodes that answer and do not say whose they are: no worker is
	// made in their names.
	Unclaimed []string
	// Finished: the NodeSet is being deleted, and nothing of it is left.
	Finished bool
	// Again is when to look again without a change, 0 for never.
	Again time.Duration
}
