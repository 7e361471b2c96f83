package records

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Reason returns why a job waits or how it ended: slurmctld's description, or else the code. It is "None" for no reason.
func Reason(j *slurm.Job) string { return cmp.Or(j.ReasonText(), j.Reason, "None") }

// WhereOrWhy returns what squeue shows as NODELIST(REASON): the reason of jobs that wait or failed, in brackets, and the
// nodes of others.
func WhereOrWhy(j *slurm.Job) string {
	if !j.State.Has(slurm.JobCompleting) && showsReason(j.State.Base) {
		return "(" + Reason(j) + ")"
	}
	return j.Nodes
}

func showsReason(b slurm.JobBase) bool {
	switch b {
	case slurm.JobPending, slurm.JobTimeout, slurm.JobOutOfMemory, slurm.JobDeadline, slurm.JobFailed:
		return true
	}
	return false
}

// HasID reports whether a job has an ID as squeue prints it. A task that is not split off belongs to the record of its
// array, and the ID of an array or a heterogeneous job to all of its records.
func HasID(j *slurm.Job, id string) bool {
	first, task, isTask := strings.Cut(id, "_")
	array := strconv.FormatUint(uint64(j.ArrayJobID), 10)
	switch {
	case JobID(j) == id, strconv.FormatUint(uint64(j.ID), 10) == id:
		return true
	case isTask:
		return j.IsArrayBase() && array == first && HasTask(j, task)
	case j.HetJobID != 0 && strconv.FormatUint(uint64(j.HetJobID), 10) == id:
		return true
	}
	return j.IsArray() && array == id
}

// NodeSet returns the names of a hostlist; an invalid one has none.
func NodeSet(list string) map[string]bool {
	out := map[string]bool{}
	names, err := hostlist.All(list)
	if err != nil {
		return out
	}
	for name := range names {
		out[name] = true
	}
	return out
}
