package metricsapi

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Offer is how many workers a NodeSet has and may have, by Kubernetes alone.
type Offer struct {
	// Replicas is how many it is meant to have now.
	Replicas uint64
	// Min is the least that the HPA keeps, nil without one.
	Min *uint64
	// Max is the most that it may have, nil when that is not known.
	Max *uint64
}

// OfferOf is what a NodeSet and its HPA say. hpa is nil for none. It is pure.
func OfferOf(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) Offer {
	o := Offer{Replicas: running(n)}
	if hpa != nil {
		least := uint64(1) // what Kubernetes takes for a minimum that is not told
		if hpa.Spec.MinReplicas != nil {
			least = count(*hpa.Spec.MinReplicas)
		}
		o.Min = &least
	}
	if most := maximum(n, hpa); most > 0 {
		o.Max = &most
	}
	return o
}

// maximum is the most workers that the NodeSet can have, 0 where that is not known.
func maximum(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) uint64 {
	if most := shape.MaxReplicas(n, hpa); most != nil {
		return count(*most)
	}
	return 0
}
