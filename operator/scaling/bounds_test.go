package scaling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestBoundsOf(t *testing.T) {
	hpa := func(least *int32, most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: least, MaxReplicas: most}}
	}
	nodeSet := func(most *int32) *v1beta1.NodeSet {
		return &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{Replicas: new(int32(2)), MaxReplicas: most}}
	}
	for _, tc := range []struct {
		name string
		n    *v1beta1.NodeSet
		hpa  *autoscalingv2.HorizontalPodAutoscaler
		want Bounds
	}{
		{"without an HPA the bounds are unknown", nodeSet(nil), nil, Bounds{Replicas: 2}},
		{"an HPA has both bounds", nodeSet(nil), hpa(new(int32(3)), 20),
			Bounds{Replicas: 2, Min: new(uint64(3)), Max: new(uint64(20))}},
		{"a minimum of zero is known", nodeSet(nil), hpa(new(int32(0)), 20),
			Bounds{Replicas: 2, Min: new(uint64(0)), Max: new(uint64(20))}},
		{"an HPA without a minimum keeps one worker", nodeSet(nil), hpa(nil, 20),
			Bounds{Replicas: 2, Min: new(uint64(1)), Max: new(uint64(20))}},
		{"the NodeSet's own maximum applies if it is smaller", nodeSet(new(int32(5))), hpa(nil, 20),
			Bounds{Replicas: 2, Min: new(uint64(1)), Max: new(uint64(5))}},
		{"the HPA's maximum applies if it is smaller", nodeSet(new(int32(100))), hpa(nil, 20),
			Bounds{Replicas: 2, Min: new(uint64(1)), Max: new(uint64(20))}},
		{"a NodeSet has a maximum without an HPA", nodeSet(new(int32(5))), nil,
			Bounds{Replicas: 2, Max: new(uint64(5))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, BoundsOf(tc.n, tc.hpa)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
