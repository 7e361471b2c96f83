package demand

import (
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Class is what kind of thing a pending job waits for.
type Class string

// The classes. Only jobs of ClassCapacity would be helped by more nodes.
const (
	ClassCapacity      Class = "capacity"
	ClassHeld          Class = "held"
	ClassTime          Class = "time"
	ClassDependency    Class = "dependency"
	ClassArrayThrottle Class = "array_throttle"
	// ClassLicense is a licence, or another thing counted per cluster.
	ClassLicense Class = "license"
	// ClassLimit is a limit of an association or a QOS.
	ClassLimit          Class = "limit"
	ClassPartitionLimit Class = "partition_limit"
	ClassReservation    Class = "reservation"
	// ClassInvalid is an account or QOS that the job may not use.
	ClassInvalid Class = "invalid"
	// ClassUnevaluated is a job without a reason that no scheduler has looked at yet.
	ClassUnevaluated Class = "unevaluated"
	// ClassUnsatisfiable is a job that no node of the partition could run.
	ClassUnsatisfiable Class = "unsatisfiable"
	// ClassOther is everything else, reasons that this version does not know included.
	ClassOther Class = "other"
)

// Classes returns every class, in the order in which they are shown.
func Classes() []Class {
	return []Class{
		ClassCapacity, ClassHeld, ClassTime, ClassDependency, ClassArrayThrottle, ClassLicense,
		ClassLimit, ClassPartitionLimit, ClassReservation, ClassInvalid, ClassUnevaluated,
		ClassUnsatisfiable, ClassOther,
	}
}

// Classify returns what a pending job waits for. What its record says directly
// (hold, priority, dependency, eligible time, reservation) comes before its
// reason, which goes stale. now is slurmctld's clock. The throttle of an array
// (see RunnableTasks) is not looked at, nor are other jobs, partitions and nodes.
func Classify(now slurm.Time, j *slurm.Job) Class {
	if Held(j) {
		return ClassHeld
	}
	if waitsForJobs(j.Dependency) {
		return ClassDependency
	}
	if j.EligibleTime.IsSet() && j.EligibleTime > now {
		return ClassTime
	}
	class := classOfRecord(j)
	if class == ClassCapacity && j.Reservation != "" {
		return ClassReservation // only the reservation's own nodes would do
	}
	return class
}

// classOfRecord is the class by reason, put right by what has become of it.
func classOfRecord(j *slurm.Job) Class {
	class, _ := ClassOf(j.Reason)
	switch {
	case class == ClassUnevaluated && j.LastSchedEval.IsSet():
		return ClassCapacity
	case j.Reason == "BeginTime" && j.EligibleTime.IsSet():
		return ClassCapacity // the time has come, the reason has not gone yet
	case class == ClassUnevaluated, class == ClassOther, class == ClassPartitionLimit:
		// The longer text is newer than a reason that says nothing of nodes, and a
		// node limit may mean that the nodes within the limit are not there.
		if text, known := ClassOf(j.ReasonText); known && text == ClassCapacity {
			return ClassCapacity
		}
	}
	return class
}

// Held reports whether a user or an administrator holds a pending job back, by
// its hold, its flags, or a priority of 0.
func Held(j *slurm.Job) bool {
	const flags = slurm.JobRequeueHold | slurm.JobSpecialExit | slurm.JobReservationDelHold
	if j.Hold || j.State.Flags&flags != 0 {
		return true
	}
	priority, known := j.Priority.Value()
	return known && priority == 0
}

// waitsForJobs reports whether a dependency still stands. Slurm drops the terms
// that are met, or marks them "(fulfilled)".
func waitsForJobs(dependency string) bool {
	for term := range strings.FieldsFuncSeq(dependency, func(r rune) bool { return r == ',' || r == '?' }) {
		if !strings.HasSuffix(term, "(fulfilled)") {
			return true
		}
	}
	return false
}
