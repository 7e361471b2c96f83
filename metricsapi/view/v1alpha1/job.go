package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SlurmJob is a record of slurmctld's job table (scontrol show job). An array has one record for
// all tasks that have not been split off, and one for each task that has.
// metadata.creationTimestamp is the submit time of the job.
//
// +kubebuilder:object:root=true
type SlurmJob struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the job's request.
	Spec SlurmJobSpec `json:"spec"`

	// status is the job's state as slurmctld reports it.
	Status SlurmJobStatus `json:"status"`
}

// SlurmJobList is a list of SlurmJobs, sorted by namespace, cluster and job id.
//
// +kubebuilder:object:root=true
type SlurmJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SlurmJob `json:"items"`
}

// SlurmJobSpec is a job's request.
type SlurmJobSpec struct {
	// cluster is the Slurm cluster that has the job.
	Cluster ClusterReference `json:"cluster"`
	// jobID is Slurm's id of the record. An array task has its own job id; the array's is arrayJobID.
	JobID int64 `json:"jobID"`
	// name is the job's name.
	// +optional
	Name string `json:"name,omitempty"`
	// user is the name of the job's user.
	// +optional
	User string `json:"user,omitempty"`
	// userID is the user id of the job's user.
	UserID int64 `json:"userID"`
	// group is the name of the job's group.
	// +optional
	Group string `json:"group,omitempty"`
	// account is the account that the job is charged to.
	// +optional
	Account string `json:"account,omitempty"`
	// qos is the job's quality of service.
	// +optional
	QOS string `json:"qos,omitempty"`
	// partitions are the partitions in which the job may run, or the one in which it runs.
	// +optional
	// +listType=atomic
	Partitions []string `json:"partitions,omitempty"`
	// timeLimitMinutes is the job's time limit in minutes, or "unlimited".
	// +optional
	TimeLimitMinutes *intstr.IntOrString `json:"timeLimitMinutes,omitempty"`
	// hold is true while the job is held.
	// +optional
	Hold bool `json:"hold,omitempty"`
	// nice is the user's adjustment of the job's priority; a higher value means a lower priority.
	// +optional
	Nice int64 `json:"nice,omitempty"`
	// requeue is true if the job is requeued after a node failure.
	// +optional
	Requeue bool `json:"requeue,omitempty"`

	// arrayJobID is the job id of the array; omitted for jobs that are not part of an array.
	// +optional
	ArrayJobID int64 `json:"arrayJobID,omitempty"`
	// arrayTaskID is the index of the array task; omitted in the record of tasks not yet split off.
	// +optional
	ArrayTaskID *int64 `json:"arrayTaskID,omitempty"`
	// arrayTasks are the indices of tasks not yet split off, such as "2-9%2". slurmrestd may truncate it ("…" at the end).
	// +optional
	ArrayTasks string `json:"arrayTasks,omitempty"`
	// arrayMaxRunning is the maximum number of running tasks of the array; omitted for no limit.
	// +optional
	ArrayMaxRunning int64 `json:"arrayMaxRunning,omitempty"`
	// hetJobID is the job id of a heterogeneous job's leader; omitted for other jobs.
	// +optional
	HetJobID int64 `json:"hetJobID,omitempty"`
	// hetOffset is the index of the component in a heterogeneous job; omitted for other jobs.
	// +optional
	HetOffset *int64 `json:"hetOffset,omitempty"`

	// maxNodes is the maximum number of requested nodes.
	// +optional
	MaxNodes *int64 `json:"maxNodes,omitempty"`
	// tasks is the number of tasks.
	// +optional
	Tasks *int64 `json:"tasks,omitempty"`
	// cpusPerTask is the number of CPUs per task.
	// +optional
	CPUsPerTask *int64 `json:"cpusPerTask,omitempty"`
	// memoryPerCPUMiB is the requested memory per CPU in MiB. At most one of memoryPerCPUMiB and memoryPerNodeMiB is set.
	// +optional
	MemoryPerCPUMiB *int64 `json:"memoryPerCPUMiB,omitempty"`
	// memoryPerNodeMiB is the requested memory per node in MiB.
	// +optional
	MemoryPerNodeMiB *int64 `json:"memoryPerNodeMiB,omitempty"`
	// tres are the requested trackable resources in Slurm's format ("cpu=4,mem=8G,gres/gpu=1").
	// +optional
	TRES string `json:"tres,omitempty"`
	// tresPerNode are the requested trackable resources per node, in Slurm's format.
	// +optional
	TRESPerNode string `json:"tresPerNode,omitempty"`
	// tresPerJob are the requested trackable resources of the whole job (sbatch --gpus), in Slurm's format.
	// +optional
	TRESPerJob string `json:"tresPerJob,omitempty"`
	// tresPerTask are the requested trackable resources per task, in Slurm's format.
	// +optional
	TRESPerTask string `json:"tresPerTask,omitempty"`
	// tresPerSocket are the requested trackable resources per socket, in Slurm's format.
	// +optional
	TRESPerSocket string `json:"tresPerSocket,omitempty"`
	// features is the constraint (sbatch -C).
	// +optional
	Features string `json:"features,omitempty"`
	// requiredNodes is the hostlist of nodes that the job must have (sbatch -w).
	// +optional
	RequiredNodes string `json:"requiredNodes,omitempty"`
	// excludedNodes is the hostlist of nodes that the job must not have (sbatch -x).
	// +optional
	ExcludedNodes string `json:"excludedNodes,omitempty"`
	// shared is how the job shares nodes: omitted for the partition's default, "none" for --exclusive.
	// +optional
	Shared string `json:"shared,omitempty"`
	// licenses are the licences that the job requires.
	// +optional
	Licenses string `json:"licenses,omitempty"`
	// dependency is the job's remaining dependency on other jobs.
	// +optional
	Dependency string `json:"dependency,omitempty"`
	// reservation is the reservation that the job uses.
	// +optional
	Reservation string `json:"reservation,omitempty"`
	// deadline is the time by which the job must end.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
}

// SlurmJobStatus is the state of a job. Times are by slurmctld's clock.
type SlurmJobStatus struct {
	// state is the base state: UNKNOWN, PENDING, RUNNING, SUSPENDED, COMPLETED, CANCELLED,
	// FAILED, TIMEOUT, NODE_FAIL, PREEMPTED, BOOT_FAIL, DEADLINE or OUT_OF_MEMORY.
	State string `json:"state"`
	// flags are the state flags, such as COMPLETING and CONFIGURING.
	// +optional
	// +listType=atomic
	Flags []string `json:"flags,omitempty"`
	// reason is why a pending job waits or how a finished job ended, in one word (squeue(1), "JOB REASON CODES").
	// +optional
	Reason string `json:"reason,omitempty"`
	// reasonText is slurmctld's longer description of the reason, often omitted.
	// +optional
	ReasonText string `json:"reasonText,omitempty"`
	// exitCode is what the script of a finished job returned; omitted for other jobs.
	// +optional
	ExitCode *int64 `json:"exitCode,omitempty"`
	// exitSignal is the number of the signal that ended a finished job; omitted for none.
	// +optional
	ExitSignal int64 `json:"exitSignal,omitempty"`
	// priority is the job's priority; 0 means held.
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// restarts is how often the job was restarted.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`

	// eligibleTime is when the job became or becomes eligible to start.
	// +optional
	EligibleTime *metav1.Time `json:"eligibleTime,omitempty"`
	// startTime is when the job started, or, while it is pending, when slurmctld expects it to start.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// endTime is when the job ended or will reach its time limit; omitted if it has no end.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// suspendTime is when the job was last suspended or resumed.
	// +optional
	SuspendTime *metav1.Time `json:"suspendTime,omitempty"`
	// preSuspendSeconds is how long the job had run when it was last suspended or resumed, in seconds.
	// +optional
	PreSuspendSeconds int64 `json:"preSuspendSeconds,omitempty"`
	// lastSchedulerEvaluation is when the scheduler last evaluated the job. The reason is from that time.
	// +optional
	LastSchedulerEvaluation *metav1.Time `json:"lastSchedulerEvaluation,omitempty"`

	// nodes is the hostlist of the nodes that the job has, such as "gpu-[0-3]".
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// scheduledNodes is the hostlist of nodes that the backfill scheduler plans for the job.
	// +optional
	ScheduledNodes string `json:"scheduledNodes,omitempty"`
	// batchHost is the node that runs the job's script.
	// +optional
	BatchHost string `json:"batchHost,omitempty"`
	// nodeCount is the number of allocated nodes, or, while the job has none, the minimum number of requested nodes.
	// +optional
	NodeCount *int64 `json:"nodeCount,omitempty"`
	// cpus is the number of allocated CPUs, or, while the job has none, the minimum number of requested CPUs.
	// +optional
	CPUs *int64 `json:"cpus,omitempty"`
	// tres are the allocated trackable resources in Slurm's format.
	// +optional
	TRES string `json:"tres,omitempty"`
}
