package convert

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeObject returns the object of a Slurm node.
func NodeObject(meta metav1.ObjectMeta, cluster v1alpha1.ClusterReference, n *slurm.Node) *v1alpha1.SlurmNode {
	return &v1alpha1.SlurmNode{
		TypeMeta:   typeOf(v1alpha1.KindNode),
		ObjectMeta: meta,
		Spec:       nodeSpec(cluster, n),
		Status:     nodeStatus(n),
	}
}

func nodeSpec(cluster v1alpha1.ClusterReference, n *slurm.Node) v1alpha1.SlurmNodeSpec {
	return v1alpha1.SlurmNodeSpec{
		Cluster: cluster, Name: n.Name, Address: n.Address, Hostname: n.Hostname,
		Partitions: n.Partitions, Features: n.Features, CPUs: int64(n.CPUs), MemoryMiB: int64(n.MemoryMiB),
		TmpDiskMiB: int64(n.TmpDiskMiB), Weight: int64(n.Weight), GRES: knownText(n.GRES), TRES: n.TRES,
		Topology: n.Topology, Comment: n.Comment, Extra: n.Extra, InstanceID: n.InstanceID,
		InstanceType: n.InstanceType,
	}
}

func nodeStatus(n *slurm.Node) v1alpha1.SlurmNodeStatus {
	status := v1alpha1.SlurmNodeStatus{
		State: n.State.Word(), States: n.State.Names(), Reason: n.Reason, ReasonBy: n.ReasonBy,
		ReasonTime:     formatTime(n.ReasonAt),
		ActiveFeatures: n.ActiveFeatures, EffectiveCPUs: int64(n.EffectiveCPUs), AllocatedCPUs: int64(n.AllocCPUs),
		IdleCPUs: int64(n.IdleCPUs), AllocatedMemoryMiB: int64(n.AllocMemoryMiB),
		FreeMemoryMiB: formatNumber(n.FreeMemoryMiB),
		GRESUsed:      knownText(n.GRESUsed), TRESUsed: n.TRESUsed, Reservation: n.Reservation,
		Owner:    knownText(n.Owner),
		BootTime: formatTime(n.BootTime), SlurmdStartTime: formatTime(n.SlurmdStartTime),
		LastBusy:    formatTime(n.LastBusy),
		ResumeAfter: formatTime(n.ResumeAfter), Version: n.Version, Architecture: n.Architecture, OS: n.OS,
	}
	if load, ok := n.Load.Value(); ok {
		status.Load = strconv.FormatFloat(load, 'f', 2, 64)
	}
	return status
}

// NodeRecord returns the record of a Slurm node.
func NodeRecord(v *v1alpha1.SlurmNode) *slurm.Node {
	spec, status := &v.Spec, &v.Status
	n := &slurm.Node{
		Name: spec.Name, Address: spec.Address, Hostname: spec.Hostname, State: slurm.ParseNodeState(status.States...),
		Partitions: spec.Partitions, Features: spec.Features, ActiveFeatures: status.ActiveFeatures,
		CPUs: uint32(spec.CPUs), EffectiveCPUs: uint32(status.EffectiveCPUs), AllocCPUs: uint32(status.AllocatedCPUs),
		IdleCPUs:  uint32(status.IdleCPUs),
		MemoryMiB: uint64(max(0, spec.MemoryMiB)), AllocMemoryMiB: uint64(max(0, status.AllocatedMemoryMiB)),
		FreeMemoryMiB: parseNumber(status.FreeMemoryMiB),
		TmpDiskMiB:    uint64(max(0, spec.TmpDiskMiB)), Weight: uint32(spec.Weight),
		GRES: spec.GRES, GRESUsed: status.GRESUsed, TRES: spec.TRES, TRESUsed: status.TRESUsed,
		Reason: status.Reason, ReasonBy: status.ReasonBy, ReasonAt: parseTime(status.ReasonTime),
		BootTime: parseTime(status.BootTime), SlurmdStartTime: parseTime(status.SlurmdStartTime),
		LastBusy: parseTime(status.LastBusy), ResumeAfter: parseTime(status.ResumeAfter),
		Reservation: status.Reservation, Owner: status.Owner, Comment: spec.Comment, Extra: spec.Extra,
		InstanceID: spec.InstanceID, InstanceType: spec.InstanceType, Architecture: status.Architecture, OS: status.OS,
		Version: status.Version, Topology: spec.Topology,
	}
	if load, err := strconv.ParseFloat(status.Load, 64); err == nil {
		n.Load = slurm.Flt(load)
	}
	return n
}
