// Package pending classifies the reasons why jobs wait, and counts the jobs that a record represents.
package pending

import (
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Class is the kind of thing that a pending job waits for.
type Class string

// The classes. More nodes help only jobs of ClassCapacity.
const (
	ClassCapacity      Class = "capacity"
	ClassHeld          Class = "held"
	ClassTime          Class = "time"
	ClassDependency    Class = "dependency"
	ClassArrayThrottle Class = "array_throttle"
	// ClassLicense is a license or another resource counted per cluster.
	ClassLicense Class = "license"
	// ClassLimit is a limit of an association or a QOS.
	ClassLimit          Class = "limit"
	ClassPartitionLimit Class = "partition_limit"
	ClassReservation    Class = "reservation"
	// ClassInvalid is an account or QOS that the job is not allowed to use.
	ClassInvalid Class = "invalid"
	// ClassUnevaluated is a job without a reason that no scheduler has evaluated yet.
	ClassUnevaluated Class = "unevaluated"
	// ClassUnsatisfiable is a job that no node of the partition could run, or whose constraints
	// slurmctld has found impossible.
	ClassUnsatisfiable Class = "unsatisfiable"
	// ClassOther is everything else, including reasons that this version does not know.
	ClassOther Class = "other"
)

// Classes returns every class, in display order.
func Classes() []Class {
	return []Class{
		ClassCapacity, ClassHeld, ClassTime, ClassDependency, ClassArrayThrottle, ClassLicense,
		ClassLimit, ClassPartitionLimit, ClassReservation, ClassInvalid, ClassUnevaluated,
		ClassUnsatisfiable, ClassOther,
	}
}

// Classify returns what a pending job waits for. The fields of its record (hold, priority,
// dependency, eligible time, reservation) take precedence over its reason, which goes stale. now is
// slurmctld's clock. Classify does not consider the throttle of an array (see RunnableTasks) nor
// other jobs, partitions and nodes.
func Classify(now slurm.Time, j *slurm.Job) Class {
	if Held(j) {
		return ClassHeld
	}
	if hasGivenUp(j) {
		return ClassUnsatisfiable
	}
	if waitsForJobs(j.Dependency) {
		return ClassDependency
	}
	if j.EligibleTime.IsSet() && j.EligibleTime > now {
		return ClassTime
	}
	class := classOfRecord(j)
	if class == ClassCapacity && j.Reservation() != "" {
		return ClassReservation // only nodes of the reservation would help
	}
	return class
}

// classOfRecord returns the class of the reason, corrected by newer fields of the record.
func classOfRecord(j *slurm.Job) Class {
	class, _ := ClassOf(j.Reason)
	switch {
	case class == ClassUnevaluated && j.LastSchedEval.IsSet():
		return ClassCapacity
	case j.Reason == "BeginTime" && j.EligibleTime.IsSet():
		return ClassCapacity // the begin time has passed, but the reason is stale
	case class == ClassUnevaluated, class == ClassOther, class == ClassPartitionLimit:
		// The longer text is newer than a reason that does not mention nodes. A node limit can mean
		// that the nodes within the limit do not exist.
		if text, known := ClassOf(j.ReasonText()); known && text == ClassCapacity {
			return ClassCapacity
		}
	}
	return class
}

// Held reports whether a user or an administrator holds a pending job by its hold, its flags, or a
// priority of 0. slurmctld 26.05 also sets the priority of jobs whose constraints it cannot meet to
// 0; those are not held, see ClassUnsatisfiable.
func Held(j *slurm.Job) bool {
	const flags = slurm.JobRequeueHold | slurm.JobSpecialExit | slurm.JobReservationDelHold
	return j.State.Flags&flags != 0 || lacksPriority(j) && j.Reason != badConstraints
}

// hasGivenUp reports whether slurmctld ignores the job until a user changes or releases it, because no known node had
// the requested resources.
func hasGivenUp(j *slurm.Job) bool { return j.Reason == badConstraints && lacksPriority(j) }

// badConstraints is slurmctld's reason for jobs whose constraints it cannot meet. Jobs that it
// evaluates again and again have the reason too, but keep their priority. A held job gets another
// reason (JobHeldUser, JobHeldAdmin).
const badConstraints = "BadConstraints"

// lacksPriority reports whether the scheduler ignores the job. The hold that slurmrestd reports
// means the same.
func lacksPriority(j *slurm.Job) bool {
	priority, known := j.Priority.Value()
	return j.Hold || known && priority == 0
}

// waitsForJobs reports whether a dependency is not yet fulfilled. Slurm drops fulfilled terms or
// marks them "(fulfilled)".
func waitsForJobs(dependency string) bool {
	for term := range strings.FieldsFuncSeq(dependency, func(r rune) bool { return r == ',' || r == '?' }) {
		if !strings.HasSuffix(term, "(fulfilled)") {
			return true
		}
	}
	return false
}
