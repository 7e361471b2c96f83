package convert

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// JobObject returns the object of a job. Its creation timestamp is the submit time.
func JobObject(meta metav1.ObjectMeta, cluster v1alpha1.ClusterReference, j *slurm.Job) *v1alpha1.SlurmJob {
	if t := formatTime(j.SubmitTime); t != nil {
		meta.CreationTimestamp = *t
	}
	return &v1alpha1.SlurmJob{
		TypeMeta:   typeOf(v1alpha1.KindJob),
		ObjectMeta: meta,
		Spec:       jobSpec(cluster, j),
		Status:     jobStatus(j),
	}
}

func jobSpec(cluster v1alpha1.ClusterReference, j *slurm.Job) v1alpha1.SlurmJobSpec {
	requested, _ := j.RequestedTRES()
	spec := v1alpha1.SlurmJobSpec{
		Cluster: cluster, JobID: int64(j.ID), Name: j.Name,
		User: j.UserName(), UserID: int64(j.UserID()), Group: j.GroupName(), Account: j.Account(), QOS: j.QOS(),
		Partitions: j.Partitions(), TimeLimitMinutes: formatLimit(j.TimeLimit),
		Hold: j.Hold, Nice: int64(j.Nice), Requeue: j.Requeue(),
		ArrayJobID: int64(j.ArrayJobID), ArrayTaskID: formatNumber(j.ArrayTaskID), ArrayTasks: j.ArrayTasks,
		ArrayMaxRunning: int64(j.ArrayMaxRunning()), HetJobID: int64(j.HetJobID),
		MaxNodes: formatPositive(j.MaxNodes()), Tasks: formatNumber(j.Tasks), CPUsPerTask: formatNumber(j.CPUsPerTask()),
		MemoryPerCPUMiB: formatNumber(j.MemoryPerCPU), MemoryPerNodeMiB: formatNumber(j.MemoryPerNode),
		TRES: requested, TRESPerNode: j.TRESPerNode(), TRESPerJob: j.TRESPerJob(), TRESPerTask: j.TRESPerTask(),
		TRESPerSocket: j.TRESPerSocket(), Features: j.Features(),
		RequiredNodes: j.RequiredNodes(), ExcludedNodes: j.ExcludedNodes(), Shared: j.Shared(),
		Licenses: j.Licenses(), Dependency: j.Dependency, Reservation: j.Reservation(), Deadline: formatTime(j.Deadline()),
	}
	if j.HetJobID != 0 {
		offset := int64(j.HetOffset)
		spec.HetOffset = &offset
	}
	return spec
}

func jobStatus(j *slurm.Job) v1alpha1.SlurmJobStatus {
	allocated, _ := j.AllocatedTRES()
	status := v1alpha1.SlurmJobStatus{
		State: j.State.Base.String(), Flags: j.State.Names()[1:],
		Reason: j.Reason, ReasonText: j.ReasonText(), Priority: formatNumber(j.Priority), Restarts: int64(j.Restarts),
		EligibleTime: formatTime(j.EligibleTime), StartTime: formatTime(j.StartTime), EndTime: formatTime(j.EndTime),
		SuspendTime: formatTime(j.SuspendTime), PreSuspendSeconds: int64(j.PreSuspendSeconds), LastSchedulerEvaluation: formatTime(j.LastSchedEval),
		Nodes: j.Nodes, ScheduledNodes: j.ScheduledNodes(), BatchHost: j.BatchHost,
		NodeCount: formatNumber(j.NodeCount), CPUs: formatNumber(j.CPUs), TRES: allocated,
	}
	if j.State.Base.Finished() || j.ExitCode().Or(0) != 0 || j.ExitSignal() != 0 {
		status.ExitCode, status.ExitSignal = formatNumber(j.ExitCode()), int64(j.ExitSignal())
	}
	return status
}

// JobRecord returns the record of a job.
func JobRecord(v *v1alpha1.SlurmJob) *slurm.Job {
	spec, status := &v.Spec, &v.Status
	j := &slurm.Job{
		SharedOwner: slurm.ShareOwner(slurm.JobOwner{
			UserName: spec.User, UserID: uint32(spec.UserID), GroupName: spec.Group, Account: spec.Account, QOS: spec.QOS,
		}),
		SharedDetails: slurm.ShareDetails(jobDetails(spec, status)),
		ID:            uint32(spec.JobID), Name: spec.Name, Partition: strings.Join(spec.Partitions, ","),
		State: slurm.ParseJobState(append([]string{status.State}, status.Flags...)...), Reason: status.Reason,
		Hold: spec.Hold, Priority: parseNumber(status.Priority), Nice: int32(spec.Nice), Restarts: uint32(status.Restarts),
		ArrayJobID: uint32(spec.ArrayJobID), ArrayTaskID: parseNumber(spec.ArrayTaskID), ArrayTasks: spec.ArrayTasks,
		HetJobID:   uint32(spec.HetJobID),
		SubmitTime: slurm.At(v.CreationTimestamp.Time), EligibleTime: parseTime(status.EligibleTime),
		StartTime: parseTime(status.StartTime), EndTime: parseTime(status.EndTime),
		SuspendTime: parseTime(status.SuspendTime), PreSuspendSeconds: uint32(status.PreSuspendSeconds),
		LastSchedEval: parseTime(status.LastSchedulerEvaluation), TimeLimit: parseLimit(spec.TimeLimitMinutes),
		Nodes: status.Nodes, BatchHost: status.BatchHost, NodeCount: parseNumber(status.NodeCount),
		CPUs: parseNumber(status.CPUs), Tasks: parseNumber(spec.Tasks),
		MemoryPerCPU: parseNumber(spec.MemoryPerCPUMiB), MemoryPerNode: parseNumber(spec.MemoryPerNodeMiB),
		TRESRequested: spec.TRES, TRESAllocated: status.TRES, Dependency: spec.Dependency,
	}
	if spec.HetOffset != nil {
		j.HetOffset = uint32(*spec.HetOffset)
	}
	return j
}

func jobDetails(spec *v1alpha1.SlurmJobSpec, status *v1alpha1.SlurmJobStatus) slurm.JobDetails {
	return slurm.JobDetails{
		ReasonText: status.ReasonText, Requeue: spec.Requeue, ArrayMaxRunning: uint32(spec.ArrayMaxRunning),
		Deadline: parseTime(spec.Deadline), ScheduledNodes: status.ScheduledNodes,
		RequiredNodes: spec.RequiredNodes, ExcludedNodes: spec.ExcludedNodes, Features: spec.Features,
		MaxNodes: parseNumber(spec.MaxNodes), CPUsPerTask: parseNumber(spec.CPUsPerTask), Shared: spec.Shared,
		TRESPerNode: spec.TRESPerNode, TRESPerJob: spec.TRESPerJob, TRESPerTask: spec.TRESPerTask,
		TRESPerSocket: spec.TRESPerSocket, Licenses: spec.Licenses, Reservation: spec.Reservation,
		ExitCode: parseExitCode(status), ExitSignal: uint32(max(0, status.ExitSignal)),
	}
}

// parseExitCode returns the exit code, which the view omits until the job has ended.
func parseExitCode(status *v1alpha1.SlurmJobStatus) slurm.Number {
	if status.ExitCode == nil && !slurm.ParseJobState(status.State).Base.Finished() {
		return slurm.Num(0)
	}
	return parseNumber(status.ExitCode)
}
