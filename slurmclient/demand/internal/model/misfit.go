package model

// Misfit is the reason why a job cannot run somewhere. Larger values are closer to running.
type Misfit uint8

// The misfits, the least first.
const (
	MisfitNone Misfit = iota
	MisfitClosed
	MisfitUnreadable
	MisfitForeign
	MisfitFeatures
	MisfitTasks
	MisfitWholeNode
	misfitCPUs
	misfitMemory
	misfitGRES
	MisfitNodes
	MisfitMaximum
	MisfitComponent
	MisfitGivenUp
)

// text returns the constant text that users see.
func (f Misfit) text() string {
	return [...]string{
		MisfitNone: "", MisfitClosed: "partition is down",
		MisfitUnreadable: "constraint or generic resources cannot be parsed",
		MisfitForeign:    "required nodes are not in the partition",
		MisfitFeatures:   "no node has the features or the disk",
		MisfitTasks:      "the tasks do not fit the CPUs that slurmctld allocates on each node",
		MisfitWholeNode:  "a whole node has more CPUs than the partition's MaxCPUsPerNode",
		misfitCPUs:       "no node has the CPUs",
		misfitMemory:     "no node has the memory",
		misfitGRES:       "no node has the generic resources",
		MisfitNodes:      "more nodes than the job or the partition allows",
		MisfitMaximum:    "more nodes than the pool's maximum",
		MisfitComponent:  "another component of the job cannot run",
		MisfitGivenUp:    "slurmctld found no node with its constraints",
	}[f]
}

// MisfitOf returns the resource that an empty node with the room lacks for v.
func MisfitOf(v, room Amounts, maxCPUs uint64) Misfit {
	for i, x := range v {
		switch {
		case x <= room[i] && (i != AmountCPUs || maxCPUs == 0 || x <= maxCPUs):
		case i == AmountCPUs:
			return misfitCPUs
		case i == AmountMemory:
			return misfitMemory
		default:
			return misfitGRES
		}
	}
	return MisfitNone
}
