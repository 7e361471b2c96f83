package demand

// fault is why a job can not run somewhere. Larger ones are nearer to running.
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

// text is for people, and constant.
func (f fault) text() string {
	return [...]string{
		faultNone: "", faultClosed: "partition is down",
		faultUnreadable: "constraint can not be read",
		faultForeign:    "required nodes are not in the partition",
		faultFeatures:   "no node has the features or the disk",
		faultTasks:      "the tasks do not fit the CPUs that slurmctld takes of each node",
		faultWhole:      "a whole node is more CPUs than the partition lets a job have of one",
		faultSize:       "no node has the CPUs",
		faultMemory:     "no node has the memory",
		faultGRES:       "no node has the generic resources",
		faultNodes:      "more nodes than the job or the partition may have",
		faultMaximum:    "more nodes than the pool's maximum",
		faultComponent:  "another component of the job can not run",
		faultGivenUp:    "slurmctld found no node with its constraints",
	}[f]
}

// tooMuch is what an empty node with the room lacks for v.
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
