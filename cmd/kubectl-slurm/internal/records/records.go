package records

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Job returns the record of a job.
func Job(v *view.SlurmJob) *slurm.Job {
	spec, status := &v.Spec, &v.Status
	j := &slurm.Job{
		ID: uint32(spec.JobID), Name: spec.Name, UserName: spec.User, UserID: uint32(spec.UserID),
		GroupName: spec.Group,
		Account:   spec.Account, QOS: spec.QOS, Partition: strings.Join(spec.Partitions, ","),
		State: slurm.ParseJobState(append([]string{status.State}, status.Flags...)...), Reason: status.Reason,
		ReasonText: status.ReasonText,
		Hold:       spec.Hold, Priority: numberOf(status.Priority), Nice: int32(spec.Nice), Requeue: spec.Requeue,
		Restarts:   uint32(status.Restarts),
		ArrayJobID: uint32(spec.ArrayJobID), ArrayTaskID: numberOf(spec.ArrayTaskID), ArrayTasks: spec.ArrayTasks,
		ArrayMaxRunning: uint32(spec.ArrayMaxRunning),
		HetJobID:        uint32(spec.HetJobID),
		SubmitTime:      slurm.At(v.CreationTimestamp.Time), EligibleTime: timeOf(status.EligibleTime),
		StartTime: timeOf(status.StartTime),
		EndTime:   timeOf(status.EndTime), SuspendTime: timeOf(status.SuspendTime),
		LastSchedEval: timeOf(status.LastSchedulerEvaluation), Deadline: timeOf(spec.Deadline),
		TimeLimit: limitOf(spec.TimeLimitMinutes),
		Nodes:     status.Nodes, ScheduledNodes: status.ScheduledNodes, BatchHost: status.BatchHost,
		RequiredNodes: spec.RequiredNodes, ExcludedNodes: spec.ExcludedNodes,
		Features: spec.Features, NodeCount: numberOf(status.NodeCount), MaxNodes: numberOf(spec.MaxNodes),
		CPUs: numberOf(status.CPUs), Tasks: numberOf(spec.Tasks),
		CPUsPerTask: numberOf(spec.CPUsPerTask), MemoryPerCPU: numberOf(spec.MemoryPerCPUMiB),
		MemoryPerNode: numberOf(spec.MemoryPerNodeMiB),
		Shared:        spec.Shared, TRESRequested: spec.TRES, TRESAllocated: status.TRES, TRESPerNode: spec.TRESPerNode,
		Licenses: spec.Licenses, Dependency: spec.Dependency, Reservation: spec.Reservation,
	}
	if spec.HetOffset != nil {
		j.HetOffset = uint32(*spec.HetOffset)
	}
	return j
}

// Node returns the record of a Slurm node.
func Node(v *view.SlurmNode) *slurm.Node {
	spec, status := &v.Spec, &v.Status
	return &slurm.Node{
		Name: spec.Name, Address: spec.Address, Hostname: spec.Hostname, State: slurm.ParseNodeState(status.States...),
		Partitions: spec.Partitions, Features: spec.Features, ActiveFeatures: status.ActiveFeatures,
		CPUs: uint32(spec.CPUs), EffectiveCPUs: uint32(status.EffectiveCPUs), AllocCPUs: uint32(status.AllocatedCPUs),
		IdleCPUs:  uint32(status.IdleCPUs),
		MemoryMiB: uint64(max(0, spec.MemoryMiB)), AllocMemoryMiB: uint64(max(0, status.AllocatedMemoryMiB)),
		FreeMemoryMiB: numberOf(status.FreeMemoryMiB),
		TmpDiskMiB:    uint64(max(0, spec.TmpDiskMiB)), Weight: uint32(spec.Weight),
		GRES: spec.GRES, GRESUsed: status.GRESUsed, TRES: spec.TRES, TRESUsed: status.TRESUsed,
		Reason: status.Reason, ReasonBy: status.ReasonBy, ReasonAt: timeOf(status.ReasonTime),
		BootTime: timeOf(status.BootTime), SlurmdStartTime: timeOf(status.SlurmdStartTime),
		LastBusy: timeOf(status.LastBusy), ResumeAfter: timeOf(status.ResumeAfter),
		Reservation: status.Reservation, Owner: status.Owner, Comment: spec.Comment, Extra: spec.Extra,
		Version: status.Version, Topology: spec.Topology,
	}
}

// Partition returns the record of a partition.
func Partition(v *view.SlurmPartition) *slurm.Partition {
	spec, status := &v.Spec, &v.Status
	return &slurm.Partition{
		Name: spec.Name, State: slurm.PartitionState(status.State), Default: spec.Default, Nodes: spec.Nodes,
		NodeSets:   spec.NodeSets,
		TotalNodes: uint32(status.TotalNodes), TotalCPUs: uint32(status.TotalCPUs), TRES: status.TRES,
		MinNodes: uint32(spec.MinNodes), MaxNodes: limitOf(spec.MaxNodes), MaxTime: limitOf(spec.MaxTimeMinutes),
		DefaultTime:  limitOf(spec.DefaultTimeMinutes),
		PriorityTier: uint32(spec.PriorityTier), QOS: spec.QOS,
	}
}

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

func numberOf(v *int64) slurm.Number {
	if v == nil || *v < 0 {
		return slurm.Number{}
	}
	return slurm.Num(uint64(*v))
}

// limitOf converts a number that may be "unlimited".
func limitOf(v *intstr.IntOrString) slurm.Number {
	switch {
	case v == nil:
		return slurm.Number{}
	case v.Type == intstr.String:
		return slurm.Infinite()
	}
	return slurm.Num(uint64(max(0, v.IntVal)))
}

func timeOf(t *metav1.Time) slurm.Time {
	if t == nil {
		return 0
	}
	return slurm.At(t.Time)
}

// HasTask reports whether the record of an array contains the task. slurmctld may have truncated
// the list of tasks.
func HasTask(j *slurm.Job, task string) bool {
	n, err := strconv.ParseUint(task, 10, 32)
	if err != nil {
		return false
	}
	list, _, _ := strings.Cut(j.ArrayTasks, "%")
	for item := range strings.SplitSeq(list, ",") {
		span, step, _ := strings.Cut(item, ":")
		low, high, ranged := strings.Cut(span, "-")
		from, err := strconv.ParseUint(low, 10, 32)
		to := from
		if ranged && err == nil {
			to, err = strconv.ParseUint(high, 10, 32)
		}
		by, stepErr := strconv.ParseUint(step, 10, 32)
		if stepErr != nil || by == 0 {
			by = 1
		}
		if err == nil && n >= from && n <= to && (n-from)%by == 0 {
			return true
		}
	}
	return false
}
