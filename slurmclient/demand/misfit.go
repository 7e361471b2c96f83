package demand

// misfit is why a job cannot run somewhere. Larger values are closer to running.
type misfit uint8

const (
	misfitNone misfit = iota
	misfitClosed
	misfitUnreadable
	misfitForeign
	misfitFeatures
	misfitTasks
	misfitWholeNode
	misfitCPUs
	misfitMemory
	misfitGRES
	misfitNodes
	misfitMaximum
	misfitComponent
	misfitGivenUp
)

// text returns the constant text that users see.
func (f misfit) text() string {
	return [...]string{
		misfitNone: "", misfitClosed: "partition is down",
		misfitUnreadable: "constraint cannot be parsed",
		misfitForeign:    "required nodes are not in the partition",
		misfitFeatures:   "no node has the features or the disk",
		misfitTasks:      "the tasks do not fit the CPUs that slurmctld allocates on each node",
		misfitWholeNode:  "a whole node has more CPUs than the partition's MaxCPUsPerNode",
		misfitCPUs:       "no node has the CPUs",
		misfitMemory:     "no node has the memory",
		misfitGRES:       "no node has the generic resources",
		misfitNodes:      "more nodes than the job or the partition allows",
		misfitMaximum:    "more nodes than the pool's maximum",
		misfitComponent:  "another component of the job cannot run",
		misfitGivenUp:    "slurmctld found no node with its constraints",
	}[f]
}

// misfitOf returns what an empty node with the room lacks for v.
func misfitOf(v, room amounts, maxCPUs uint64) misfit {
	for i, x := range v {
		switch {
		case x <= room[i] && (i != amountCPUs || maxCPUs == 0 || x <= maxCPUs):
		case i == amountCPUs:
			return misfitCPUs
		case i == amountMemory:
			return misfitMemory
		default:
			return misfitGRES
		}
	}
	return misfitNone
}
