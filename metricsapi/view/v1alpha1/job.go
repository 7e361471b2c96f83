package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SlurmJob is one record of slurmctld's job table (scontrol show job). An array has
// one record for all its tasks that have not been split off, and one for each task
// that has. metadata.creationTimestamp is when the job was submitted.
//
// +kubebuilder:object:root=true
type SlurmJob struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what was asked for.
	Spec SlurmJobSpec `json:"spec"`

	// status is what slurmctld made of it.
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

// SlurmJobSpec is what was asked for.
type SlurmJobSpec struct {
	// cluster is the Slurm cluster that has the job.
	Cluster ClusterReference `json:"cluster"`
	// jobID is Slurm's id of the record. That of an array task is its own; the array's is arrayJobID.
	JobID int64 `json:"jobID"`
	// name is the job's name.
	// +optional
	Name string `json:"name,omitempty"`
	// user is the name of the job's user.
	// +optional
	User string `json:"user,omitempty"`
	// userID is the number of the job's user.
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
	// partitions are those in which the job may run; one alone once it runs.
	// +optional
	// +listType=atomic
	Partitions []string `json:"partitions,omitempty"`
	// timeLimitMinutes is the job's time limit in minutes, or "unlimited".
	// +optional
	TimeLimitMinutes *intstr.IntOrString `json:"timeLimitMinutes,omitempty"`
	// hold is true while the job is held.
	// +optional
	Hold bool `json:"hold,omitempty"`
	// nice is what the user adds to the job's priority, the other way round.
	// +optional
	Nice int64 `json:"nice,omitempty"`
	// requeue is true when the job starts anew after its node failed.
	// +optional
	Requeue bool `json:"requeue,omitempty"`

	// arrayJobID is the job id of the array; left out outside of arrays.
	// +optional
	ArrayJobID int64 `json:"arrayJobID,omitempty"`
	// arrayTaskID is the task's index; left out in the record of tasks not yet split off.
	// +optional
	ArrayTaskID *int64 `json:"arrayTaskID,omitempty"`
	// arrayTasks are the indexes not yet split off, such as "2-9%2". slurmrestd may cut it ("…" at the end).
	// +optional
	ArrayTasks string `json:"arrayTasks,omitempty"`
	// arrayMaxRunning is how many tasks of the array may run at once; left out for any number.
	// +optional
	ArrayMaxRunning int64 `json:"arrayMaxRunning,omitempty"`
	// hetJobID is the leader's job id of a heterogeneous job; left out for others.
	// +optional
	HetJobID int64 `json:"hetJobID,omitempty"`
	// hetOffset is the component's place in a heterogeneous job; left out for others.
	// +optional
	HetOffset *int64 `json:"hetOffset,omitempty"`

	// maxNodes is the largest number of nodes that was asked for.
	// +optional
	MaxNodes *int64 `json:"maxNodes,omitempty"`
	// tasks is the number of tasks.
	// +optional
	Tasks *int64 `json:"tasks,omitempty"`
	// cpusPerTask is the number of CPUs of each task.
	// +optional
	CPUsPerTask *int64 `json:"cpusPerTask,omitempty"`
	// memoryPerCPUMiB is the memory of each CPU in MiB. At most one of it and memoryPerNodeMiB is there.
	// +optional
	MemoryPerCPUMiB *int64 `json:"memoryPerCPUMiB,omitempty"`
	// memoryPerNodeMiB is the memory on each node in MiB.
	// +optional
	MemoryPerNodeMiB *int64 `json:"memoryPerNodeMiB,omitempty"`
	// tres are the trackable resources that were asked for, in Slurm's words ("cpu=4,mem=8G,gres/gpu=1").
	// +optional
	TRES string `json:"tres,omitempty"`
	// tresPerNode are those of each node, in Slurm's words.
	// +optional
	TRESPerNode string `json:"tresPerNode,omitempty"`
	// features is the constraint (sbatch -C).
	// +optional
	Features string `json:"features,omitempty"`
	// requiredNodes is the hostlist of nodes that the job must have (sbatch -w).
	// +optional
	RequiredNodes string `json:"requiredNodes,omitempty"`
	// excludedNodes is the hostlist of nodes that it must not have (sbatch -x).
	// +optional
	ExcludedNodes string `json:"excludedNodes,omitempty"`
	// shared tells how the job shares nodes; left out for as the partition has it, "none" for --exclusive.
	// +optional
	Shared string `json:"shared,omitempty"`
	// licenses are those that the job needs.
	// +optional
	Licenses string `json:"licenses,omitempty"`
	// dependency is what the job still waits for of other jobs.
	// +optional
	Dependency string `json:"dependency,omitempty"`
	// reservation is the reservation that the job is for.
	// +optional
	Reservation string `json:"reservation,omitempty"`
	// deadline is when the job must have ended.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
}

// SlurmJobStatus is what slurmctld made of a job. Times are slurmctld's, by its clock.
type SlurmJobStatus struct {
	// state is the base state: UNKNOWN, PENDING, RUNNING, SUSPENDED, COMPLETED, CANCELLED,
	// FAILED, TIMEOUT, NODE_FAIL, PREEMPTED, BOOT_FAIL, DEADLINE or OUT_OF_MEMORY.
	State string `json:"state"`
	// flags are the flags beside it, such as COMPLETING and CONFIGURING.
	// +optional
	// +listType=atomic
	Flags []string `json:"flags,omitempty"`
	// reason is why a pending job waits or how a finished one ended, in one word (squeue, "JOB REASON CODES").
	// +optional
	Reason string `json:"reason,omitempty"`
	// reasonText is slurmctld's longer text, often left out.
	// +optional
	ReasonText string `json:"reasonText,omitempty"`
	// priority is the job's priority; 0 is held.
	// +optional
	Priority *int64 `json:"priority,omitempty"`
	// restarts is how often the job was started anew.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`

	// eligibleTime is when the job may or might start.
	// +optional
	EligibleTime *metav1.Time `json:"eligibleTime,omitempty"`
	// startTime is when the job started, or, while it is pending, when slurmctld expects it to.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// endTime is when the job ended or will at its time limit; left out where that is never.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// suspendTime is when the job was last suspended or resumed.
	// +optional
	SuspendTime *metav1.Time `json:"suspendTime,omitempty"`
	// lastSchedulerEvaluation is when the scheduler last looked at the job: an older reason is stale.
	// +optional
	LastSchedulerEvaluation *metav1.Time `json:"lastSchedulerEvaluation,omitempty"`

	// nodes is the hostlist of the nodes that the job has, such as "gpu-[0-3]".
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// scheduledNodes is the hostlist that the backfill scheduler plans for it.
	// +optional
	ScheduledNodes string `json:"scheduledNodes,omitempty"`
	// batchHost is the node that runs the job's script.
	// +optional
	BatchHost string `json:"batchHost,omitempty"`
	// nodeCount is the number of nodes that the job has, or asked for at least while it has none.
	// +optional
	NodeCount *int64 `json:"nodeCount,omitempty"`
	// cpus is the number of CPUs that the job has, or asked for at least while it has none.
	// +optional
	CPUs *int64 `json:"cpus,omitempty"`
	// tres are the trackable resources that the job has, in Slurm's words.
	// +optional
	TRES string `json:"tres,omitempty"`
}
