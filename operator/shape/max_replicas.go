package shape

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

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
