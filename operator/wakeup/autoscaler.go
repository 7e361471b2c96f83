package wakeup

import (
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// hasTakenToZero reports whether an HPA's condition says that it scaled its target to zero itself.
// Such an HPA computes its metrics at zero and wakes the target.
func hasTakenToZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScaledToZero {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// isAsleep reports whether an HPA whose target is at zero ignores its metrics: its condition says
// so, or it has no conditions yet. An HPA that computes metrics at zero is awake. An HPA that has not
// reconciled since the target was scaled to zero counts as awake until its condition changes.
func isAsleep(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	if hasTakenToZero(hpa) {
		return false
	}
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive {
			return c.Status == corev1.ConditionFalse && c.Reason == "ScalingDisabled"
		}
	}
	return true
}

// minReplicasOf returns the HPA's minReplicas; the API's default is 1.
func minReplicasOf(hpa *autoscalingv2.HorizontalPodAutoscaler) int32 {
	if hpa.Spec.MinReplicas == nil {
		return 1
	}
	return *hpa.Spec.MinReplicas
}

// specReplicas returns spec.replicas; the API's default is 1.
func specReplicas(nodeSet *v1beta1.NodeSet) int32 {
	if nodeSet.Spec.Replicas == nil {
		return 1
	}
	return *nodeSet.Spec.Replicas
}

func joinNames(hpas []autoscalingv2.HorizontalPodAutoscaler) string {
	var out []string
	for _, hpa := range hpas {
		out = append(out, hpa.Name)
	}
	slices.Sort(out) // the list has no order, and the message must not change
	return strings.Join(out, ", ")
}
