package explain

import "github.com/slurmtide/slurmtide/slurmclient/demand"

// Number says whether one job is spoken of, or several.
type Number string

// The numbers.
const (
	One  Number = "one"
	Many Number = "many"
)

// Meaning says why jobs of a class wait, in words that go on after "because".
func Meaning(c demand.Class, n Number) string {
	both := func(text string) map[Number]string { return map[Number]string{One: text, Many: text} }
	return map[demand.Class]map[Number]string{
		demand.ClassCapacity:       {One: "no worker is free for it", Many: "no worker is free for them"},
		demand.ClassHeld:           {One: "somebody holds it back", Many: "somebody holds them back"},
		demand.ClassTime:           {One: "its begin time has not come", Many: "their begin time has not come"},
		demand.ClassDependency:     both("other jobs must end first"),
		demand.ClassArrayThrottle:  {One: "as many tasks of its array run as may at once", Many: "as many tasks of their array run as may at once"},
		demand.ClassLicense:        both("a licence is not free"),
		demand.ClassLimit:          {One: "a limit of its account or QOS is reached", Many: "a limit of their account or QOS is reached"},
		demand.ClassPartitionLimit: {One: "the partition is not up, or does not allow it", Many: "the partition is not up, or does not allow them"},
		demand.ClassReservation:    {One: "its reservation has not begun", Many: "their reservation has not begun"},
		demand.ClassInvalid:        {One: "it may not use its account or QOS", Many: "they may not use their account or QOS"},
		demand.ClassUnevaluated:    {One: "the scheduler has not looked at it yet", Many: "the scheduler has not looked at them yet"},
		demand.ClassUnsatisfiable:  {One: "no worker could ever run it", Many: "no worker could ever run them"},
		demand.ClassOther:          both("Slurm has another reason"),
	}[c][n]
}
