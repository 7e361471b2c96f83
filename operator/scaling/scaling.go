// Package scaling reads the number of workers of a NodeSet, its bounds and the state of the HPA
// that scales it. The operator, the metrics adapter and the kubectl plugin share these rules.
//
// All functions are pure. An HPA may be nil where the function's comment allows it; an unset field has the default of the API server.
package scaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// MaxNodes is the largest number of nodes of a Slurm cluster, so that no NodeSet has more workers.
const MaxNodes = 65_536

// SpecReplicas returns spec.replicas, which scaling mode DaemonSet ignores. It is at least 0.
func SpecReplicas(n *v1beta1.NodeSet) int32 {
	if n.Spec.Replicas == nil {
		return 1
	}
	return max(0, *n.Spec.Replicas)
}

// DesiredReplicas returns the desired number of workers: spec.replicas, or in scaling mode DaemonSet
// the number of matching Kubernetes nodes, which the operator reports in the status.
func DesiredReplicas(n *v1beta1.NodeSet) int32 {
	if n.Spec.ScalingMode == v1beta1.ScalingModeDaemonSet {
		return max(0, n.Status.Desired)
	}
	return SpecReplicas(n)
}

// MinReplicas returns the HPA's minReplicas.
func MinReplicas(hpa *autoscalingv2.HorizontalPodAutoscaler) int32 {
	if hpa.Spec.MinReplicas == nil {
		return 1
	}
	return max(0, *hpa.Spec.MinReplicas)
}

// MaxReplicas returns the largest number of workers that a NodeSet can have: the smaller of its
// spec.maxReplicas and the maxReplicas of the HPA that scales it. hpa is nil if no HPA scales it.
// The result is nil if neither sets a maximum.
func MaxReplicas(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) *int32 {
	own := n.Spec.MaxReplicas
	if hpa == nil || own != nil && *own <= hpa.Spec.MaxReplicas {
		return own
	}
	return &hpa.Spec.MaxReplicas
}

// TargetsNodeSet reports whether the HPA scales a NodeSet, of any API version. The NodeSet has the name in the HPA's scaleTargetRef,
// and the HPA's namespace.
func TargetsNodeSet(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	ref := hpa.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && version.Group == v1beta1.GroupName && ref.Kind == v1beta1.KindNodeSet
}

// HasScaledToZero reports whether an HPA's condition shows that the HPA scaled its target to zero. Such an HPA computes its metrics at
// zero and wakes the target (since Kubernetes 1.36, with the gate HPAScaleToZero of KEP-2021).
func HasScaledToZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	c := Condition(hpa, autoscalingv2.ScaledToZero)
	return c != nil && c.Status == corev1.ConditionTrue
}

// IsAsleep reports whether an HPA whose target is at zero ignores its metrics, according to its condition, or because it has no
// condition ScalingActive yet. An HPA that scaled the target to zero itself is awake. If others scaled the target to zero, the HPA
// counts as awake until it reconciles and its condition changes.
func IsAsleep(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	if HasScaledToZero(hpa) {
		return false
	}
	c := Condition(hpa, autoscalingv2.ScalingActive)
	return c == nil || c.Status == corev1.ConditionFalse && c.Reason == "ScalingDisabled"
}

// Condition returns a condition of the HPA, nil if it is missing.
func Condition(hpa *autoscalingv2.HorizontalPodAutoscaler,
	of autoscalingv2.HorizontalPodAutoscalerConditionType) *autoscalingv2.HorizontalPodAutoscalerCondition {
	for i := range hpa.Status.Conditions {
		if c := &hpa.Status.Conditions[i]; c.Type == of {
			return c
		}
	}
	return nil
}

// RequiredNodesMetric is the custom metric of the workers that the jobs of a NodeSet require, which HPAs of NodeSets use.
const RequiredNodesMetric = "slurm_nodeset_required_nodes"

// RequiredNodesTarget returns the averageValue, in thousandths, of an HPA's metric of the required nodes of its NodeSet. It returns 0
// without this metric. Other metrics do not matter: the HPA takes the largest of their numbers.
func RequiredNodesTarget(hpa *autoscalingv2.HorizontalPodAutoscaler) int64 {
	for _, m := range hpa.Spec.Metrics {
		if o := m.Object; m.Type == autoscalingv2.ObjectMetricSourceType && o != nil && o.Metric.Name == RequiredNodesMetric &&
			o.Metric.Selector == nil && o.DescribedObject.Kind == v1beta1.KindNodeSet && o.DescribedObject.Name == hpa.Spec.ScaleTargetRef.Name &&
			o.Target.Type == autoscalingv2.AverageValueMetricType && o.Target.AverageValue != nil {
			return max(0, o.Target.AverageValue.MilliValue())
		}
	}
	return 0
}
