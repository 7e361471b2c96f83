package explain

import (
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// Number is the grammatical number of the jobs in a sentence.
type Number string

// The numbers.
const (
	One  Number = "one"
	Many Number = "many"
)

// Meaning says why jobs of a class wait, in words that continue a sentence after "because".
func Meaning(c pending.Class, n Number) string {
	both := func(text string) map[Number]string { return map[Number]string{One: text, Many: text} }
	return map[pending.Class]map[Number]string{
		pending.ClassCapacity: {One: "no worker is free for it", Many: "no worker is free for them"},
		pending.ClassHeld:     {One: "it is held", Many: "they are held"},
		pending.ClassTime: {One: "its begin time is in the future",
			Many: "their begin times are in the future"},
		pending.ClassDependency: both("other jobs must end first"),
		pending.ClassArrayThrottle: {One: "the maximum number of tasks of its array already run",
			Many: "the maximum number of tasks of their array already run"},
		pending.ClassLicense: both("a licence is not available"),
		pending.ClassLimit: {One: "a limit of its account or QOS is reached",
			Many: "a limit of their account or QOS is reached"},
		pending.ClassPartitionLimit: {One: "the partition is not up, or does not allow it",
			Many: "the partition is not up, or does not allow them"},
		pending.ClassReservation: {One: "its reservation has not begun", Many: "their reservation has not begun"},
		pending.ClassInvalid: {One: "it may not use its account or QOS",
			Many: "they may not use their account or QOS"},
		pending.ClassUnevaluated: {One: "the scheduler has not evaluated it yet",
			Many: "the scheduler has not evaluated them yet"},
		pending.ClassUnsatisfiable: {One: "no worker could ever run it", Many: "no worker could ever run them"},
		pending.ClassOther:         both("of another reason in Slurm"),
	}[c][n]
}
