package records

import (
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Snapshot returns a snapshot with only these jobs, nodes and partitions, all read at now.
func Snapshot(
	now time.Time, jobs []*slurm.Job, nodes []*slurm.Node, partitions []*slurm.Partition,
) *slurmclient.Snapshot {
	poll := slurmclient.Poll{Enabled: true, Known: true, Sequence: 1, ReadAt: now}
	s := &slurmclient.Snapshot{}
	s.Jobs.Poll, s.Jobs.Value = poll, jobs
	s.Nodes.Poll, s.Nodes.Value = poll, nodes
	s.Partitions.Poll, s.Partitions.Value = poll, partitions
	return s
}

// JobID formats the ID of a job as squeue does: 7_3 for an array task, 7_[4-9] for tasks that are
// not split off yet, 8+1 for a component of a heterogeneous job.
func JobID(j *slurm.Job) string {
	id := slurm.Num(uint64(j.ID)).String()
	array := slurm.Num(uint64(j.ArrayJobID)).String()
	task, split := j.ArrayTaskID.Value()
	switch {
	case j.HetJobID != 0:
		return slurm.Num(uint64(j.HetJobID)).String() + "+" + slurm.Num(uint64(j.HetOffset)).String()
	case j.IsArray() && split:
		return array + "_" + slurm.Num(task).String()
	case j.IsArrayBase():
		return array + "_[" + j.ArrayTasks + "]"
	}
	return id
}

// HasTask reports whether the record of an array contains the task. slurmctld may have truncated
// the list of tasks.
func HasTask(j *slurm.Job, task string) bool {
	n, err := strconv.ParseUint(task, 10, 32)
	if err != nil {
		return false
	}
	return slurm.HasArrayTask(j.ArrayTasks, n)
}
