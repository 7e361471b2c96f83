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
	// ClassUnsatisfiable is a job that no node of the partition could run, or that
	// slurmctld has given up on for its constraints.
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
	if givenUp(j) {
		return ClassUnsatisfiable
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
// its hold, its flags, or a priority of 0. slurmctld takes the priority of jobs whose
// constraints it cannot meet as well (26.05): those are not held, see ClassUnsatisfiable.
func Held(j *slurm.Job) bool {
	const flags = slurm.JobRequeueHold | slurm.JobSpecialExit | slurm.JobReservationDelHold
	return j.State.Flags&flags != 0 || withoutPriority(j) && j.Reason != badConstraints
}

// givenUp reports that slurmctld will not look at the job again until somebody changes
// or releases it, since no node that it knew had what the job asks for.
func givenUp(j *slurm.Job) bool { return j.Reason == badConstraints && withoutPriority(j) }

// badConstraints is slurmctld's reason for jobs that it has given up on. Of those that
// it looks at again and again it says so too, and they keep their priority. A job that
// is held gets another reason (JobHeldUser, JobHeldAdmin).
const badConstraints = "BadConstraints"

// withoutPriority reports that the scheduler does not look at the job. slurmrestd's hold
// says the same of it.
func withoutPriority(j *slurm.Job) bool {
	priority, known := j.Priority.Value()
	return j.Hold || known && priority == 0
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
