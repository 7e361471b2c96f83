package slurm

import (
	"strconv"
	"strings"
	"time"
)

// Job is one record of slurmctld's job table (scontrol(1), "show job"). An array has one record for all its tasks that have not been split
// off, and one record for each split task.
//
// A cache keeps a hundred thousand jobs and more. The fields in which similar jobs agree are therefore separate values that jobs share.
// They are read as methods, such as job.Account(), and changed with EditOwner and EditDetails.
//
// Compare jobs with Same. == does not compile, since equal jobs may keep equal shared fields in different places.
type Job struct {
	_ [0]func()
	// SharedOwner and SharedDetails have the fields that similar jobs share, as methods.
	SharedOwner
	SharedDetails

	ID   uint32
	Hold bool
	Name string
	// Partition is Slurm's text: one partition once the job runs, or a list such as "a,b" while
	// the job may run in any of them.
	Partition string
	State     JobState
	// Reason is why a pending job waits or how a finished job ended (squeue(1), "JOB REASON
	// CODES").
	Reason   string
	Priority Number
	Nice     int32
	Restarts uint32

	// ArrayJobID is the job id of the array, 0 for jobs that are not in an array. ArrayTaskID is
	// the index of this task, unset in the record that represents the tasks not yet split off.
	// ArrayTasks lists those tasks, such as "2-9%2", and may be truncated ("…" at the end).
	ArrayTaskID Number
	ArrayTasks  string
	ArrayJobID  uint32

	// HetJobID is the job id of the leader of a heterogeneous job, 0 for other jobs. HetOffset is
	// the offset of this component.
	HetJobID, HetOffset uint32
	// PreSuspendSeconds is how long the job had run until it was last suspended or resumed, at SuspendTime.
	PreSuspendSeconds uint32

	SuspendTime                          Time
	SubmitTime, EligibleTime, AccrueTime Time
	// StartTime is when the job started, or when slurmctld expects it to start.
	StartTime Time
	// EndTime is when the job ended, or when it reaches its time limit.
	EndTime Time
	// LastSchedEval is when the scheduler last evaluated the job, and thus the age of Reason.
	LastSchedEval Time
	// TimeLimit is in minutes.
	TimeLimit Number

	// Nodes is the hostlist of allocated nodes.
	Nodes, BatchHost string
	// NodeCount is the number of allocated nodes, or the minimum that a pending job requests.
	NodeCount                   Number
	CPUs, Tasks                 Number
	MemoryPerCPU, MemoryPerNode Number // MiB; at most one of them is set
	// TRESRequested and TRESAllocated are Slurm's text; see ParseTRES. They contain only what AccountingStorageTRES lists, by
	// default no generic resources; see RequestedTRES and AllocatedTRES.
	TRESRequested, TRESAllocated string
	Dependency                   string
}

// Same reports whether the two records are equal in every field, shared or not. It must be cheap, since a cache
// compares every job in every poll; for that reason Job has no slices.
func (j *Job) Same(k *Job) bool {
	return j.ID == k.ID && j.State == k.State && j.Priority == k.Priority && j.Hold == k.Hold && j.Nice == k.Nice &&
		j.Restarts == k.Restarts && j.hasTimesOf(k) && j.hasSizesOf(k) &&
		j.ArrayJobID == k.ArrayJobID && j.ArrayTaskID == k.ArrayTaskID && j.HetJobID == k.HetJobID && j.HetOffset == k.HetOffset &&
		j.Name == k.Name && j.Partition == k.Partition && j.Reason == k.Reason && j.ArrayTasks == k.ArrayTasks &&
		j.Nodes == k.Nodes && j.BatchHost == k.BatchHost && j.TRESRequested == k.TRESRequested &&
		j.TRESAllocated == k.TRESAllocated && j.Dependency == k.Dependency &&
		j.SharedOwner.Equal(k.SharedOwner) && j.SharedDetails.Equal(k.SharedDetails)
}

func (j *Job) hasTimesOf(k *Job) bool {
	return j.SubmitTime == k.SubmitTime && j.EligibleTime == k.EligibleTime && j.AccrueTime == k.AccrueTime &&
		j.StartTime == k.StartTime && j.EndTime == k.EndTime && j.SuspendTime == k.SuspendTime &&
		j.PreSuspendSeconds == k.PreSuspendSeconds && j.LastSchedEval == k.LastSchedEval && j.TimeLimit == k.TimeLimit
}

func (j *Job) hasSizesOf(k *Job) bool {
	return j.NodeCount == k.NodeCount && j.CPUs == k.CPUs && j.Tasks == k.Tasks &&
		j.MemoryPerCPU == k.MemoryPerCPU && j.MemoryPerNode == k.MemoryPerNode
}

// HasUserName reports whether UserName is the name of a user, and not UserID in its place.
func (j *Job) HasUserName() bool {
	name := j.UserName()
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return name != "" && name != strconv.FormatUint(uint64(j.UserID()), 10)
	}
	return true
}

// RunTime returns how long a job has run at now, without the time in which it was suspended; squeue(1) shows it as TIME. It is 0 before the
// job starts, and if slurmctld does not know its start.
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
	// ID is the job id. A task has the id of its array, and a component of a heterogeneous job has the leader's id.
	ID uint32
	// TaskID is the array index of a single task, with or without its own record.
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
