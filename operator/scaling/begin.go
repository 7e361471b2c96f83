package scaling

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// BeginPeriod is the time that a NodeSet is new. It is also the longest time that its first worker waits until the demand is known. By
// default an HPA removes an unused worker after the same time.
const BeginPeriod = 5 * time.Minute

// MayBeginAtZero reports whether a NodeSet is new and may begin without workers. Its replicas are the default of 1, and the only HPA
// that scales it has minReplicas 0 and only the metric of required nodes: without jobs, the HPA would remove the worker after minutes.
// hpas are the HPAs of the namespace. A NodeSet whose spec was changed, or that has or had a worker, is not new. If Slurm accepts no
// job for it without workers, it needs its first worker.
func MayBeginAtZero(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler, now time.Time) bool {
	isNew := n.DeletionTimestamp == nil && n.Generation == 1 && now.Sub(n.CreationTimestamp.Time).Abs() < BeginPeriod &&
		n.Status.Replicas == 0 && n.Annotations[v1beta1.AnnotationSlurmCluster] == ""
	if !isNew || n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet || SpecReplicas(n) != 1 ||
		n.Annotations[v1beta1.AnnotationWake] == v1beta1.WakeNever ||
		needsWorkers(n) {
		return false
	}
	count, allowsNone := 0, false
	for i := range hpas {
		hpa := &hpas[i]
		if TargetsNodeSet(hpa) && hpa.Spec.ScaleTargetRef.Name == n.Name && hpa.DeletionTimestamp == nil {
			count, allowsNone = count+1, MinReplicas(hpa) == 0 && removesUnneeded(hpa)
		}
	}
	return count == 1 && allowsNone
}

// removesUnneeded reports whether an HPA has no metric but the required nodes of its NodeSet, and may scale down.
func removesUnneeded(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	if b := hpa.Spec.Behavior; b != nil && b.ScaleDown != nil && b.ScaleDown.SelectPolicy != nil &&
		*b.ScaleDown.SelectPolicy == autoscalingv2.DisabledPolicySelect {
		return false
	}
	return len(hpa.Spec.Metrics) == 1 && RequiredNodesTarget(hpa) > 0
}

// needsWorkers reports whether Slurm accepts no job for a NodeSet that has no worker, and will not do so by itself.
func needsWorkers(n *v1beta1.NodeSet) bool {
	c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionSubmittable)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason != v1beta1.ReasonRecordsMissing
}

// AwaitsBeginning reports whether package wakeup may still set the replicas of a new NodeSet to zero. It ends when the condition WakeUp
// reports anything else, such as that jobs need the NodeSet.
func AwaitsBeginning(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler, now time.Time) bool {
	said := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionWakeUp)
	isOpen := said == nil || said.Reason == v1beta1.ReasonDemandUnknown || said.Reason == v1beta1.ReasonBeginsAtZero
	return isOpen && MayBeginAtZero(n, hpas, now)
}
