package convert

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// PartitionObject returns the object of a partition.
func PartitionObject(
	meta metav1.ObjectMeta, cluster v1alpha1.ClusterReference, p *slurm.Partition,
) *v1alpha1.SlurmPartition {
	return &v1alpha1.SlurmPartition{
		TypeMeta:   typeOf(v1alpha1.KindPartition),
		ObjectMeta: meta,
		Spec: v1alpha1.SlurmPartitionSpec{
			Cluster: cluster, Name: p.Name, Default: p.Default, Position: int64(p.Position),
			Nodes: p.Nodes, NodeSets: p.NodeSets,
			MinNodes: int64(p.MinNodes), MaxNodes: formatLimit(p.MaxNodes), MaxTimeMinutes: formatLimit(p.MaxTime),
			DefaultTimeMinutes: formatLimit(p.DefaultTime), PriorityTier: int64(p.PriorityTier), QOS: p.QOS,
			AllowAccounts: p.AllowAccounts, DenyAccounts: p.DenyAccounts, AllowGroups: p.AllowGroups,
			AllowQOS: p.AllowQOS, DenyQOS: p.DenyQOS, PreemptMode: p.PreemptMode,
		},
		Status: v1alpha1.SlurmPartitionStatus{
			State: string(p.State), TotalNodes: int64(p.TotalNodes), TotalCPUs: int64(p.TotalCPUs), TRES: p.TRES,
		},
	}
}

// PartitionRecord returns the record of a partition.
func PartitionRecord(v *v1alpha1.SlurmPartition) *slurm.Partition {
	spec, status := &v.Spec, &v.Status
	return &slurm.Partition{
		Name: spec.Name, State: slurm.PartitionState(status.State), Default: spec.Default,
		Position: uint32(spec.Position), Nodes: spec.Nodes,
		NodeSets:   spec.NodeSets,
		TotalNodes: uint32(status.TotalNodes), TotalCPUs: uint32(status.TotalCPUs), TRES: status.TRES,
		MinNodes: uint32(spec.MinNodes), MaxNodes: parseLimit(spec.MaxNodes), MaxTime: parseLimit(spec.MaxTimeMinutes),
		DefaultTime:  parseLimit(spec.DefaultTimeMinutes),
		PriorityTier: uint32(spec.PriorityTier), QOS: spec.QOS,
		AllowAccounts: spec.AllowAccounts, DenyAccounts: spec.DenyAccounts, AllowGroups: spec.AllowGroups,
		AllowQOS: spec.AllowQOS, DenyQOS: spec.DenyQOS, PreemptMode: spec.PreemptMode,
	}
}
