package slurm

// JobDetails contains the fields that similar jobs share: mostly options of sbatch(1) that few jobs use, or that have few common values.
type JobDetails struct {
	// ReasonText is slurmctld's longer text of Job.Reason, often empty.
	ReasonText string
	// ArrayMaxRunning is the array's throttle (sbatch --array=…%N), 0 for none.
	ArrayMaxRunning uint32
	// HetJobIDs are the ids of all components of a heterogeneous job, as a hostlist.
	HetJobIDs string
	Deadline  Time
	Requeue   bool
	// ScheduledNodes is the hostlist of the nodes that backfill plans to use.
	ScheduledNodes string
	// RequiredNodes and ExcludedNodes are hostlists (sbatch -w and -x).
	RequiredNodes, ExcludedNodes string
	// Features is the constraint expression (sbatch -C), Prefer the preferred one (--prefer).
	Features, Prefer string
	// MaxNodes is the maximum number of nodes that a pending job requests, 0 or absent if it requests none.
	MaxNodes                  Number
	CPUsPerTask, TasksPerNode Number
	MinCPUsPerNode            Number
	MinTmpDiskMiB             Number
	ThreadsPerCore            Number
	Contiguous                bool
	// Shared is how the job shares nodes: empty for the default of the partition, "none" for
	// --exclusive, "user", "mcs", "topo" or "oversubscribe". Several words are joined by commas.
	Shared string
	// GRESAllocated are the generic resources on all allocated nodes, as text of TRES such as "gres/gpu=4,gres/gpu:h100=4".
	GRESAllocated                          string
	TRESPerJob, TRESPerNode, TRESPerSocket string
	TRESPerTask                            string
	// MemoryPerTRES is the memory in MiB per unit of a resource, such as "gres/gpu:400".
	MemoryPerTRES string
	// Siblings are the clusters of a federation in which the job could run as well.
	Siblings                       string
	Licenses, Reservation, Network string
	// Flags are the flags of the job (not of its state), joined by commas, such as
	// "EXACT_TASK_COUNT_REQUESTED,JOB_WAS_RUNNING".
	Flags string
	// ExitCode is the exit code of the job's script: 0 until the job has ended, and unset if unknown. ExitSignal is the signal that ended the
	// job, or 0.
	ExitCode   Number
	ExitSignal uint32
}

// SharedDetails is an immutable JobDetails, which any number of jobs may share. The zero value has zero fields.
type SharedDetails struct{ shared *JobDetails }

// ShareDetails returns a SharedDetails with a copy of d.
func ShareDetails(d JobDetails) SharedDetails {
	if d == (JobDetails{}) {
		return SharedDetails{}
	}
	return SharedDetails{&d}
}

// TextBytes returns the size of all texts.
func (d *JobDetails) TextBytes() int {
	n := 0
	for _, text := range []string{d.ReasonText, d.HetJobIDs, d.ScheduledNodes, d.RequiredNodes, d.ExcludedNodes, d.Features, d.Prefer,
		d.Shared, d.GRESAllocated, d.TRESPerJob, d.TRESPerNode, d.TRESPerSocket, d.TRESPerTask, d.MemoryPerTRES, d.Siblings, d.Licenses,
		d.Reservation, d.Network, d.Flags} {
		n += len(text)
	}
	return n
}

// Details returns a copy of the fields.
func (s SharedDetails) Details() JobDetails {
	if s.shared == nil {
		return JobDetails{}
	}
	return *s.shared
}

// EditDetails lets edit change a copy of the fields, which this job gets. Other jobs keep theirs.
func (s *SharedDetails) EditDetails(edit func(d *JobDetails)) {
	d := s.Details()
	edit(&d)
	*s = ShareDetails(d)
}

// HasDetails reports whether the fields equal d's.
func (s SharedDetails) HasDetails(d *JobDetails) bool {
	if s.shared == nil {
		return *d == JobDetails{}
	}
	return *s.shared == *d
}

// Equal reports whether the fields of both are equal; go-cmp uses it.
func (s SharedDetails) Equal(t SharedDetails) bool {
	if s.shared == t.shared {
		return true
	}
	return s.shared != nil && t.shared != nil && *s.shared == *t.shared
}

// ReasonText returns slurmctld's longer text of Reason, often empty.
func (s SharedDetails) ReasonText() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.ReasonText
}

// ArrayMaxRunning returns the array's throttle, 0 for none.
func (s SharedDetails) ArrayMaxRunning() uint32 {
	if s.shared == nil {
		return 0
	}
	return s.shared.ArrayMaxRunning
}

// ExitCode returns what the job's script returned, which is 0 until the job has ended and unset if unknown.
func (s SharedDetails) ExitCode() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.ExitCode
}

// ExitSignal returns the signal that ended the job, 0 for none.
func (s SharedDetails) ExitSignal() uint32 {
	if s.shared == nil {
		return 0
	}
	return s.shared.ExitSignal
}

// HetJobIDs returns the ids of all components of a heterogeneous job, as a hostlist.
func (s SharedDetails) HetJobIDs() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.HetJobIDs
}

// Deadline returns when the job must have ended.
func (s SharedDetails) Deadline() Time {
	if s.shared == nil {
		return 0
	}
	return s.shared.Deadline
}

// Requeue reports whether the job may be requeued.
func (s SharedDetails) Requeue() bool {
	if s.shared == nil {
		return false
	}
	return s.shared.Requeue
}

// ScheduledNodes returns the hostlist of the nodes that backfill plans to use.
func (s SharedDetails) ScheduledNodes() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.ScheduledNodes
}

// RequiredNodes returns the hostlist of sbatch -w.
func (s SharedDetails) RequiredNodes() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.RequiredNodes
}

// ExcludedNodes returns the hostlist of sbatch -x.
func (s SharedDetails) ExcludedNodes() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.ExcludedNodes
}

// Features returns the constraint expression of sbatch -C.
func (s SharedDetails) Features() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Features
}

// Prefer returns the preferred constraint expression.
func (s SharedDetails) Prefer() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Prefer
}

// MaxNodes returns the maximum number of nodes that a pending job requests.
func (s SharedDetails) MaxNodes() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.MaxNodes
}

// CPUsPerTask returns the CPUs of each task.
func (s SharedDetails) CPUsPerTask() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.CPUsPerTask
}

// TasksPerNode returns the tasks on each node.
func (s SharedDetails) TasksPerNode() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.TasksPerNode
}

// MinCPUsPerNode returns the least number of CPUs of a node.
func (s SharedDetails) MinCPUsPerNode() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.MinCPUsPerNode
}

// MinTmpDiskMiB returns the least temporary disk space of a node.
func (s SharedDetails) MinTmpDiskMiB() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.MinTmpDiskMiB
}

// ThreadsPerCore returns the threads per core that the job requests.
func (s SharedDetails) ThreadsPerCore() Number {
	if s.shared == nil {
		return Number{}
	}
	return s.shared.ThreadsPerCore
}

// Contiguous reports whether the nodes must be contiguous.
func (s SharedDetails) Contiguous() bool {
	if s.shared == nil {
		return false
	}
	return s.shared.Contiguous
}

// Shared returns how the job shares nodes; see JobDetails.
func (s SharedDetails) Shared() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Shared
}

// GRESAllocated returns the generic resources on all allocated nodes, as text of TRES.
func (s SharedDetails) GRESAllocated() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.GRESAllocated
}

// TRESPerJob returns the resources that the job requests as a whole.
func (s SharedDetails) TRESPerJob() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.TRESPerJob
}

// TRESPerNode returns the resources that the job requests on each node.
func (s SharedDetails) TRESPerNode() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.TRESPerNode
}

// TRESPerSocket returns the resources that the job requests for each socket.
func (s SharedDetails) TRESPerSocket() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.TRESPerSocket
}

// TRESPerTask returns the resources that the job requests for each task.
func (s SharedDetails) TRESPerTask() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.TRESPerTask
}

// MemoryPerTRES returns the memory in MiB per unit of a resource.
func (s SharedDetails) MemoryPerTRES() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.MemoryPerTRES
}

// Siblings returns the clusters of a federation in which the job could run as well.
func (s SharedDetails) Siblings() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Siblings
}

// Licenses returns the licenses that the job requests.
func (s SharedDetails) Licenses() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Licenses
}

// Reservation returns the reservation that the job requests.
func (s SharedDetails) Reservation() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Reservation
}

// Network returns the network options of the job.
func (s SharedDetails) Network() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Network
}

// Flags returns the flags of the job, joined by commas.
func (s SharedDetails) Flags() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Flags
}
