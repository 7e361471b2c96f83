package demand

import "github.com/slurmtide/slurmtide/slurmclient/slurm"

// Class is what kind of thing a pending job waits for.
type Class string

// The classes. Only jobs of ClassCapacity would be helped by more nodes.
const (
	ClassCapacity      Class = "capacity"
	ClassHeld          Class = "held"
	ClassTime          Class = "time"
	ClassDependency    Class = "dependency"
	ClassArrayThrottle Class = "array_throttle"
	ClassLicense       Class = "license"
	// ClassLimit is a limit of an association or a QOS.
	ClassLimit          Class = "limit"
	ClassPartitionLimit Class = "partition_limit"
	ClassReservation    Class = "reservation"
	// ClassInvalid is an account, QOS or request that the job may not use.
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

// ClassOf returns the class of a pending reason by Slurm's text for it, and
// whether the reason is one that this version knows; unknown ones are ClassOther.
func ClassOf(reason string) (class Class, known bool) { return ClassOther, false }

// Classify returns what a pending job waits for. What its record says directly
// (hold, priority, dependency, eligible time, reservation) comes before its
// reason, which goes stale. now is slurmctld's clock. The throttle of an array
// is not looked at (RunnableTasks is), nor are partitions and nodes.
func Classify(now slurm.Time, j *slurm.Job) Class { c, _ := ClassOf(j.Reason); return c }

// Reasons returns every pending reason that ClassOf knows, sorted.
func Reasons() []string { return nil }
