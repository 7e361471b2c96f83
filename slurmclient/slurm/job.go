package slurm

import "strings"

// Job is one record of slurmctld's job table (scontrol(1), "show job"). An array
// has one record for all its tasks that have not been split off, and one for
// each task that has.
type Job struct {
	ID   uint32
	Name string
	// UserName, Account and QOS are as slurmctld names them.
	UserName  string
	UserID    uint32
	GroupName string
	Account   string
	QOS       string
	// Partition is Slurm's text: one partition once the job runs, a list such as
	// "a,b" while it may run in either.
	Partition string
	State     JobState
	// Reason is why a pending job waits or how a finished one ended (squeue(1),
	// "JOB REASON CODES"); ReasonText is slurmctld's longer text, often empty.
	Reason, ReasonText string
	Hold               bool
	Priority           Number
	Nice               int32
	Requeue            bool
	Restarts           uint32

	// ArrayJobID is the job id of the array, 0 outside arrays. ArrayTaskID is this
	// task's index, unset in the record that stands for the tasks not yet split off;
	// ArrayTasks lists those, such as "2-9%2", and may be cut ("…" at the end).
	ArrayJobID  uint32
	ArrayTaskID Number
	ArrayTasks  string
	// ArrayMaxRunning is the array's throttle (sbatch --array=…%N), 0 for none.
	ArrayMaxRunning uint32

	// HetJobID is the leader's job id of a heterogeneous job, 0 for others;
	// HetOffset the component's place in it and HetJobIDs all ids as a hostlist.
	HetJobID, HetOffset uint32
	HetJobIDs           string

	SubmitTime, EligibleTime, AccrueTime Time
	// StartTime is when the job started, or when slurmctld expects it to.
	StartTime Time
	// EndTime is when the job ended, or will at its time limit.
	EndTime     Time
	SuspendTime Time
	// LastSchedEval is when the scheduler last looked at the job: older reasons are stale.
	LastSchedEval Time
	Deadline      Time
	// TimeLimit is in minutes.
	TimeLimit Number

	// Nodes is the hostlist of allocated nodes; ScheduledNodes what backfill plans.
	Nodes, ScheduledNodes, BatchHost string
	// RequiredNodes and ExcludedNodes are hostlists (sbatch -w and -x).
	RequiredNodes, ExcludedNodes string
	// Features is the constraint expression (sbatch -C), Prefer the soft one.
	Features, Prefer string
	// NodeCount is the number of nodes allocated, or asked for at least;
	// MaxNodes the most asked for, 0 or absent when not told.
	NodeCount, MaxNodes         Number
	CPUs, Tasks                 Number
	CPUsPerTask, TasksPerNode   Number
	MinCPUsPerNode              Number
	MinTmpDiskMiB               Number
	MemoryPerCPU, MemoryPerNode Number // MiB; at most one of them is set
	ThreadsPerCore              Number
	Contiguous                  bool
	// Shared tells how the job shares nodes: empty for as the partition has it,
	// "none" for --exclusive, "user", "mcs", "topo", "oversubscribe" (joined by
	// commas should there be several).
	Shared string
	// TRESRequested and TRESAllocated are Slurm's text; see ParseTRES.
	TRESRequested, TRESAllocated           string
	TRESPerJob, TRESPerNode, TRESPerSocket string
	TRESPerTask                            string
	// MemoryPerTRES is MiB for each of a resource, such as "gres/gpu:400".
	MemoryPerTRES string
	// Siblings are the clusters of a federation where the job could run as well.
	Siblings                                   string
	Licenses, Dependency, Reservation, Network string
	// Flags are the job's own flags (not those of its state), joined by commas, such
	// as "EXACT_TASK_COUNT_REQUESTED,JOB_WAS_RUNNING".
	Flags string
}

// Same reports whether the two records are alike in every field. It is cheap:
// a cache asks it of every job in every poll, which is why a Job has no slices.
func (j *Job) Same(k *Job) bool { return *j == *k }

// Partitions splits Partition at its commas. Every call allocates.
func (j *Job) Partitions() []string {
	if j.Partition == "" {
		return nil
	}
	return strings.Split(j.Partition, ",")
}

// IsArray reports whether the record is an array's base record or one of its tasks.
func (j *Job) IsArray() bool { return j.ArrayJobID != 0 }

// IsArrayBase reports whether the record stands for array tasks that have not
// been split off yet.
func (j *Job) IsArrayBase() bool {
	_, split := j.ArrayTaskID.Value()
	return j.ArrayJobID != 0 && !split && j.ArrayTasks != ""
}

// JobStatus is what the cheap state endpoint tells of one job or array task.
type JobStatus struct {
	// ID is the job id, of the array for a task and of the leader for a component.
	ID uint32
	// TaskID is the array index of a task that has or could have a record of its own.
	TaskID Number
	// Tasks is the task expression of a base record, such as "2-9%2", or "*" where the
	// server does not list the tasks.
	Tasks string
	// HetOffset is a heterogeneous component's place.
	HetOffset Number
	State     JobState
}

// JobRequest is what submitting a job needs (sbatch(1)).
type JobRequest struct {
	Name, Partition, Account, QOS string
	// Script is the batch script, with its #! line.
	Script string
	// Environment must not be empty; Slurm refuses a job without one.
	Environment      []string
	WorkingDirectory string
	Array            string
	Nodes            uint32
	Tasks            uint32
	CPUsPerTask      uint32
	MemoryPerNode    Number // MiB
	MemoryPerCPU     Number // MiB
	TimeLimit        Number // minutes
	Constraints      string
	TRESPerNode      string
	TRESPerJob       string
	RequiredNodes    string
	Dependency       string
	Licenses         string
	BeginTime        Time
	Hold             bool
	Exclusive        bool
	Comment          string
	Reservation      string
}
