package scaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// BeginsAtZero reports whether a NodeSet is new and is to begin without workers: its replicas are the default of 1, and the only HPA that
// scales it has minReplicas 0, so that the HPA would remove the worker after minutes if no job used it. hpas are the HPAs of the
// namespace. A NodeSet whose spec was changed, or that has or had a worker, is not new.
func BeginsAtZero(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) bool {
	isNew := n.DeletionTimestamp == nil && n.Generation == 1 && n.Status.Replicas == 0 && n.Annotations[v1beta1.AnnotationSlurmCluster] == ""
	if !isNew || n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet || SpecReplicas(n) != 1 ||
		n.Annotations[v1beta1.AnnotationWake] == v1beta1.WakeNever {
		return false
	}
	count, allowsNone := 0, false
	for i := range hpas {
		hpa := &hpas[i]
		if TargetsNodeSet(hpa) && hpa.Spec.ScaleTargetRef.Name == n.Name && hpa.DeletionTimestamp == nil {
			count, allowsNone = count+1, MinReplicas(hpa) == 0
		}
	}
	return count == 1 && allowsNone
}
