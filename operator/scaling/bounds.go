package scaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Bounds are a NodeSet's replicas and their bounds, as Kubernetes objects specify them.
type Bounds struct {
	// Replicas is the desired number of workers.
	Replicas uint64
	// Min is the minimum of the HPA, nil without an HPA.
	Min *uint64
	// Max is the maximum number of workers, nil if unknown.
	Max *uint64
}

// BoundsOf returns the bounds of a NodeSet and its HPA; hpa may be nil.
func BoundsOf(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler) Bounds {
	out := Bounds{Replicas: uint64(DesiredReplicas(n))} //nolint:gosec // not negative
	if hpa != nil {
		out.Min = new(uint64(MinReplicas(hpa))) //nolint:gosec // not negative
	}
	if most := MaxReplicas(n, hpa); most != nil && *most > 0 {
		out.Max = new(uint64(*most)) //nolint:gosec // positive
	}
	return out
}
