package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// AnnotationClusterKind is on NodeSets of this version whose clusterName names a
// Controller; its value is then "Controller". Conversion sets and reads it, and so
// may users. NodeSets of v1beta1 do not have it: the annotation is reserved.
const AnnotationClusterKind = v1beta1.Prefix + "cluster-kind"

// ToBeta makes out the NodeSet that n is in v1beta1. They share nothing. out's type
// meta stays as it is.
func (n *NodeSet) ToBeta(out *v1beta1.NodeSet) {
	in := n.DeepCopy()
	out.ObjectMeta, out.Status = in.ObjectMeta, in.Status
	s := in.Spec
	out.Spec = v1beta1.NodeSetSpec{
		Replicas: s.Replicas, MaxReplicas: s.MaxReplicas, ScalingMode: s.ScalingMode,
		Slurmd: s.Slurmd, Logfile: s.Logfile, SSH: s.SSH, ExtraConf: s.ExtraConf, Partition: s.Partition, Template: s.Template,
		VolumeClaimTemplates: s.VolumeClaimTemplates, PersistentVolumeClaimRetentionPolicy: s.PersistentVolumeClaimRetentionPolicy,
		UpdateStrategy: s.UpdateStrategy, DrainPolicy: s.DrainPolicy, RevisionHistoryLimit: s.RevisionHistoryLimit,
		MinReadySeconds: s.MinReadySeconds, OrdinalPadding: s.OrdinalPadding, OversubscribeNode: s.OversubscribeNode,
		PinToNode: s.PinToNode, SecurityProfile: s.SecurityProfile, CordonKubeNodes: s.CordonKubeNodes,
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

// FromBeta makes n the NodeSet that in is in this version. They share nothing. n's
// type meta stays as it is. Of a valid NodeSet, which names one of Controller and
// Cluster, nothing is lost.
func (n *NodeSet) FromBeta(in *v1beta1.NodeSet) {
	in = in.DeepCopy()
	n.ObjectMeta, n.Status = in.ObjectMeta, in.Status
	s := in.Spec
	n.Spec = NodeSetSpec{
		Replicas: s.Replicas, MaxReplicas: s.MaxReplicas, ScalingMode: s.ScalingMode,
		Slurmd: s.Slurmd, Logfile: s.Logfile, SSH: s.SSH, ExtraConf: s.ExtraConf, Partition: s.Partition, Template: s.Template,
		VolumeClaimTemplates: s.VolumeClaimTemplates, PersistentVolumeClaimRetentionPolicy: s.PersistentVolumeClaimRetentionPolicy,
		UpdateStrategy: s.UpdateStrategy, DrainPolicy: s.DrainPolicy, RevisionHistoryLimit: s.RevisionHistoryLimit,
		MinReadySeconds: s.MinReadySeconds, OrdinalPadding: s.OrdinalPadding, OversubscribeNode: s.OversubscribeNode,
		PinToNode: s.PinToNode, SecurityProfile: s.SecurityProfile, CordonKubeNodes: s.CordonKubeNodes,
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

// ToBeta makes out the Cluster that c is in v1beta1. They share nothing. out's type
// meta stays as it is.
func (c *Cluster) ToBeta(out *v1beta1.Cluster) {
	in := c.DeepCopy()
	out.ObjectMeta, out.Spec, out.Status = in.ObjectMeta, in.Spec, in.Status
}

// FromBeta makes c the Cluster that in is in this version. They share nothing. c's
// type meta stays as it is.
func (c *Cluster) FromBeta(in *v1beta1.Cluster) {
	in = in.DeepCopy()
	c.ObjectMeta, c.Spec, c.Status = in.ObjectMeta, in.Spec, in.Status
}
