package demand

// misfit is why a job cannot run somewhere. Larger values are closer to running.
type fault uint8

const (
	faultNone fault = iota
	faultClosed
	faultUnreadable
	faultForeign
	faultFeatures
	faultTasks
	faultWhole
	faultSize
	faultMemory
	faultGRES
	faultNodes
	faultMaximum
	faultComponent
	faultGivenUp
)

// text returns the constant text that users see.
func (f fault) text() string {
	return [...]string{
		faultNone: "", faultClosed: "partition is down",
		faultUnreadable: "constraint cannot be parsed",
		faultForeign:    "required nodes are not in the partition",
		faultFeatures:   "no node has the features or the disk",
		faultTasks:      "the tasks do not fit the CPUs that slurmctld allocates on each node",
		faultWhole:      "a whole node has more CPUs than the partition's MaxCPUsPerNode",
		faultSize:       "no node has the CPUs",
		faultMemory:     "no node has the memory",
		faultGRES:       "no node has the generic resources",
		faultNodes:      "more nodes than the job or the partition allows",
		faultMaximum:    "more nodes than the pool's maximum",
		faultComponent:  "another component of the job cannot run",
		faultGivenUp:    "slurmctld found no node with its constraints",
	}[f]
}

// misfitOf returns what an empty node with the room lacks for v.
func tooMuch(v, room amounts, maxCPUs uint64) fault {
	for i, x := range v {
		switch {
		case x <= room[i] && (i != amountCPUs || maxCPUs == 0 || x <= maxCPUs):
		case i == amountCPUs:
			return faultSize
		case i == amountMemory:
			return faultMemory
		default:
			return faultGRES
		}
	}
	return faultNone
}
