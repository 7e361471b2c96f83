package slurm

import (
	"strconv"
	"strings"
	"time"
)

// Job is one record of slurmctld's job table (scontrol(1), "show job"). An array has one record for
// all its tasks that have not been split off, and one record for each task that has.
type Job struct {
	ID   uint32
	Name string
	// UserName, Account and QOS are the names that slurmctld uses. UserName is UserID in decimal where slurmrestd does not know the
	// name, because its host has no such user; see HasUserName.
	UserName string
	UserID   uint32
	// AssociationID is the association whose limits apply to the job, 0 without accounting.
	AssociationID uint32
	GroupName     string
	Account       string
	QOS           string
	// Partition is Slurm's text: one partition once the job runs, or a list such as "a,b" while
	// the job may run in any of them.
	Partition string
	State     JobState
	// Reason is why a pending job waits or how a finished job ended (squeue(1), "JOB REASON
	// CODES"). ReasonText is slurmctld's longer text, often empty.
	Reason, ReasonText string
	Hold               bool
	Priority           Number
	Nice               int32
	Requeue            bool
	Restarts           uint32

	// ArrayJobID is the job id of the array, 0 for jobs that are not in an array. ArrayTaskID is
	// the index of this task, unset in the record that represents the tasks not yet split off.
	// ArrayTasks lists those tasks, such as "2-9%2", and may be truncated ("…" at the end).
	ArrayJobID  uint32
	ArrayTaskID Number
	ArrayTasks  string
	// ArrayMaxRunning is the array's throttle (sbatch --array=…%N), 0 for none.
	ArrayMaxRunning uint32

	// HetJobID is the job id of the leader of a heterogeneous job, 0 for other jobs. HetOffset is
	// the offset of this component, and HetJobIDs are the ids of all components as a hostlist.
	HetJobID, HetOffset uint32
	HetJobIDs           string

	SubmitTime, EligibleTime, AccrueTime Time
	// StartTime is when the job started, or when slurmctld expects it to start.
	StartTime Time
	// EndTime is when the job ended, or when it reaches its time limit.
	EndTime Time
	// SuspendTime is when the job was last suspended or resumed, and PreSuspendSeconds how long it had run until then.
	SuspendTime       Time
	PreSuspendSeconds uint32
	// LastSchedEval is when the scheduler last evaluated the job, and thus the age of Reason.
	LastSchedEval Time
	Deadline      Time
	// TimeLimit is in minutes.
	TimeLimit Number

	// Nodes is the hostlist of allocated nodes, ScheduledNodes that of the nodes that backfill
	// plans to use.
	Nodes, ScheduledNodes, BatchHost string
	// RequiredNodes and ExcludedNodes are hostlists (sbatch -w and -x).
	RequiredNodes, ExcludedNodes string
	// Features is the constraint expression (sbatch -C), Prefer the preferred one (--prefer).
	Features, Prefer string
	// NodeCount is the number of allocated nodes, or the minimum that a pending job requests.
	// MaxNodes is the maximum that it requests, 0 or absent if it requests none.
	NodeCount, MaxNodes         Number
	CPUs, Tasks                 Number
	CPUsPerTask, TasksPerNode   Number
	MinCPUsPerNode              Number
	MinTmpDiskMiB               Number
	MemoryPerCPU, MemoryPerNode Number // MiB; at most one of them is set
	ThreadsPerCore              Number
	Contiguous                  bool
	// Shared is how the job shares nodes: empty for the default of the partition, "none" for
	// --exclusive, "user", "mcs", "topo" or "oversubscribe". Several words are joined by commas.
	Shared string
	// TRESRequested and TRESAllocated are Slurm's text; see ParseTRES. They contain only what AccountingStorageTRES lists, by
	// default no generic resources; see RequestedTRES and AllocatedTRES.
	TRESRequested, TRESAllocated string
	// GRESAllocated are the generic resources on all allocated nodes, as text of TRES such as "gres/gpu=4,gres/gpu:h100=4".
	GRESAllocated                          string
	TRESPerJob, TRESPerNode, TRESPerSocket string
	TRESPerTask                            string
	// MemoryPerTRES is the memory in MiB per unit of a resource, such as "gres/gpu:400".
	MemoryPerTRES string
	// Siblings are the clusters of a federation in which the job could run as well.
	Siblings                                   string
	Licenses, Dependency, Reservation, Network string
	// Flags are the flags of the job, not those of its state, joined by commas, such as
	// "EXACT_TASK_COUNT_REQUESTED,JOB_WAS_RUNNING".
	Flags string
}

// Same reports whether the two records are equal in every field. It must be cheap, since a cache
// compares every job in every poll; for that reason Job has no slices.
func (j *Job) Same(k *Job) bool { return *j == *k }

// HasUserName reports whether UserName is the name of a user, and not UserID in its place.
func (j *Job) HasUserName() bool {
	if j.UserName == "" || '0' <= j.UserName[0] && j.UserName[0] <= '9' {
		return j.UserName != "" && j.UserName != strconv.FormatUint(uint64(j.UserID), 10)
	}
	return true
}

// RunTime returns how long a job has run at now, without the time in which it was suspended: what squeue(1) shows as TIME. It is 0
// before the job starts, and if slurmctld has no start of it.
func (j *Job) RunTime(now Time) time.Duration {
	if j.State.Base == JobPending || !j.StartTime.IsSet() || j.StartTime >= now {
		return 0
	}
	ran := time.Duration(j.PreSuspendSeconds) * time.Second
	if j.State.Base == JobSuspended {
		return ran
	}
	end := now
	if j.State.Base.Finished() && j.EndTime.IsSet() && j.EndTime < now {
		end = j.EndTime
	}
	if j.SuspendTime.IsSet() {
		return max(0, ran+end.Sub(j.SuspendTime))
	}
	return max(0, end.Sub(j.StartTime))
}

// Partitions returns the partitions in Partition. Every call allocates.
func (j *Job) Partitions() []string {
	if j.Partition == "" {
		return nil
	}
	return strings.Split(j.Partition, ",")
}

// IsArray reports whether the record is the base record or a task of an array.
func (j *Job) IsArray() bool { return j.ArrayJobID != 0 }

// IsArrayBase reports whether the record represents array tasks that have not been split off yet.
func (j *Job) IsArrayBase() bool {
	_, split := j.ArrayTaskID.Value()
	return j.ArrayJobID != 0 && !split && j.ArrayTasks != ""
}

// JobStatus is the state of one job or array task, as the endpoint jobs/state reports it.
type JobStatus struct {
	// ID is the job id: that of the array for a task, and that of the leader for a component of a
	// heterogeneous job.
	ID uint32
	// TaskID is the array index of a single task, with or without a record of its own.
	TaskID Number
	// Tasks is the task expression of a base record, such as "2-9%2", or "*" if the server does
	// not list the tasks.
	Tasks string
	// HetOffset is the offset of a heterogeneous component.
	HetOffset Number
	State     JobState
}

// JobRequest describes a job to submit (sbatch(1)).
type JobRequest struct {
	Name, Partition, Account, QOS string
	// Script is the batch script, including its #! line.
	Script string
	// Environment contains variables such as "A=B". Slurm refuses a job without environment; if
	// empty, only PATH is set.
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
