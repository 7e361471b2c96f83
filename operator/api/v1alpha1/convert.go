package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// AnnotationClusterKind has the value "Controller" on NodeSets of this version whose clusterName names a
// Controller. Conversion and users set it; conversion reads it. It is reserved: NodeSets of v1beta1 do
// not have it.
const AnnotationClusterKind = v1beta1.Prefix + "cluster-kind"

// ToBeta converts n to v1beta1 and writes the result to out. They share no memory. ToBeta does not change
// the TypeMeta of out.
func (n *NodeSet) ToBeta(out *v1beta1.NodeSet) {
	in := n.DeepCopy()
	out.ObjectMeta, out.Status = in.ObjectMeta, in.Status
	s := in.Spec
	out.Spec = v1beta1.NodeSetSpec{
		Replicas: s.Replicas, MaxReplicas: s.MaxReplicas, ScalingMode: s.ScalingMode,
		Slurmd: s.Slurmd, Logfile: s.Logfile, SSH: s.SSH, ExtraConf: s.ExtraConf, Partition: s.Partition,
		Template: s.Template, VolumeClaimTemplates: s.VolumeClaimTemplates,
		PersistentVolumeClaimRetentionPolicy: s.PersistentVolumeClaimRetentionPolicy,
		UpdateStrategy:                       s.UpdateStrategy, DrainPolicy: s.DrainPolicy,
		RevisionHistoryLimit: s.RevisionHistoryLimit,
		MinReadySeconds:      s.MinReadySeconds, OrdinalPadding: s.OrdinalPadding,
		OversubscribeNode: s.OversubscribeNode,
		PinToNode:         s.PinToNode, SecurityProfile: s.SecurityProfile, CordonKubeNodes: s.CordonKubeNodes,
		FaultDrains:           s.FaultDrains,
		PruneSlurmNodeRecords: s.PruneSlurmNodeRecords, WorkloadDisruptionProtection: s.WorkloadDisruptionProtection,
	}
	ref := &corev1.LocalObjectReference{Name: s.ClusterName}
	if out.Annotations[AnnotationClusterKind] != v1beta1.KindController {
		out.Spec.ClusterRef = ref
		return
	}
	out.Spec.ControllerRef = ref
	delete(out.Annotations, AnnotationClusterKind)
	if len(out.Annotations) == 0 {
		out.Annotations = nil
	}
}

// FromBeta converts in to this version and writes the result to n. They share no memory. FromBeta does not
// change the TypeMeta of n. It loses nothing of a valid NodeSet, which names either a Controller or a
// Cluster.
func (n *NodeSet) FromBeta(in *v1beta1.NodeSet) {
	in = in.DeepCopy()
	n.ObjectMeta, n.Status = in.ObjectMeta, in.Status
	s := in.Spec
	n.Spec = NodeSetSpec{
		Replicas: s.Replicas, MaxReplicas: s.MaxReplicas, ScalingMode: s.ScalingMode,
		Slurmd: s.Slurmd, Logfile: s.Logfile, SSH: s.SSH, ExtraConf: s.ExtraConf, Partition: s.Partition,
		Template: s.Template, VolumeClaimTemplates: s.VolumeClaimTemplates,
		PersistentVolumeClaimRetentionPolicy: s.PersistentVolumeClaimRetentionPolicy,
		UpdateStrategy:                       s.UpdateStrategy, DrainPolicy: s.DrainPolicy,
		RevisionHistoryLimit: s.RevisionHistoryLimit,
		MinReadySeconds:      s.MinReadySeconds, OrdinalPadding: s.OrdinalPadding,
		OversubscribeNode: s.OversubscribeNode,
		PinToNode:         s.PinToNode, SecurityProfile: s.SecurityProfile, CordonKubeNodes: s.CordonKubeNodes,
		FaultDrains:           s.FaultDrains,
		PruneSlurmNodeRecords: s.PruneSlurmNodeRecords, WorkloadDisruptionProtection: s.WorkloadDisruptionProtection,
	}
	switch {
	case s.ControllerRef != nil:
		n.Spec.ClusterName = s.ControllerRef.Name
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[AnnotationClusterKind] = v1beta1.KindController
	case s.ClusterRef != nil:
		n.Spec.ClusterName = s.ClusterRef.Name
	}
}

// ToBeta converts c to v1beta1 and writes the result to out. They share no memory. ToBeta does not change
// the TypeMeta of out.
func (c *Cluster) ToBeta(out *v1beta1.Cluster) {
	in := c.DeepCopy()
	out.ObjectMeta, out.Spec, out.Status = in.ObjectMeta, in.Spec, in.Status
}

// FromBeta converts in to this version and writes the result to c. They share no memory. FromBeta does not
// change the TypeMeta of c.
func (c *Cluster) FromBeta(in *v1beta1.Cluster) {
	in = in.DeepCopy()
	c.ObjectMeta, c.Spec, c.Status = in.ObjectMeta, in.Spec, in.Status
}
