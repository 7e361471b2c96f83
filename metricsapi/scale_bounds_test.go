package metricsapi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestScaleBoundsOfANodeSet(t *testing.T) {
	hpa := func(least *int32, most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: least, MaxReplicas: most}}
	}
	most := func(n int32) func(*v1beta1.NodeSet) {
		return func(s *v1beta1.NodeSet) { s.Spec.MaxReplicas = &n }
	}
	for _, tc := range []struct {
		name string
		n    *v1beta1.NodeSet
		hpa  *autoscalingv2.HorizontalPodAutoscaler
		want ScaleBounds
	}{
		{"without an HPA the bounds are unknown", aNodeSet(), nil, ScaleBounds{Replicas: 2}},
		{"an HPA has both bounds", aNodeSet(), hpa(ptr[int32](3), 20),
			ScaleBounds{Replicas: 2, Min: ptr[uint64](3), Max: ptr[uint64](20)}},
		{"a minimum of zero is known", aNodeSet(), hpa(ptr[int32](0), 20),
			ScaleBounds{Replicas: 2, Min: ptr[uint64](0), Max: ptr[uint64](20)}},
		{"an HPA without a minimum keeps one worker", aNodeSet(), hpa(nil, 20),
			ScaleBounds{Replicas: 2, Min: ptr[uint64](1), Max: ptr[uint64](20)}},
		{"the NodeSet's own maximum applies if it is smaller", aNodeSet(most(5)), hpa(nil, 20),
			ScaleBounds{Replicas: 2, Min: ptr[uint64](1), Max: ptr[uint64](5)}},
		{"the HPA's maximum applies if it is smaller", aNodeSet(most(100)), hpa(nil, 20),
			ScaleBounds{Replicas: 2, Min: ptr[uint64](1), Max: ptr[uint64](20)}},
		{"a NodeSet has a maximum without an HPA", aNodeSet(most(5)), nil,
			ScaleBounds{Replicas: 2, Max: ptr[uint64](5)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ScaleBoundsOf(tc.n, tc.hpa)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
