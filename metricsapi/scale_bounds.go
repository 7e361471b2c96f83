package metricsapi

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/shape"
)

// ScaleBounds are a NodeSet's replicas and their bounds, as Kubernetes objects specify them.
type ScaleBounds struct {
	// Replicas is the desired number of workers.
	Replicas uint64
	// Min is the minimum of the HPA, nil without an HPA.
	Min *uint64
	// Max is the maximum number of workers, nil if unknown.
	Max *uint64
}

// ScaleBoundsOf returns the bounds of a NodeSet and its HPA; hpa may be nil. It is pure.
func ScaleBoundsOf(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) ScaleBounds {
	o := ScaleBounds{Replicas: replicasOf(n)}
	if hpa != nil {
		least := uint64(1) // the default of minReplicas
		if hpa.Spec.MinReplicas != nil {
			least = nonNegative(*hpa.Spec.MinReplicas)
		}
		o.Min = &least
	}
	if most := maxReplicasOf(n, hpa); most > 0 {
		o.Max = &most
	}
	return o
}

// maxReplicasOf returns the maximum number of workers of the NodeSet, 0 if unknown.
func maxReplicasOf(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) uint64 {
	if most := shape.MaxReplicas(n, hpa); most != nil {
		return nonNegative(*most)
	}
	return 0
}
