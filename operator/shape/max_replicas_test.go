package shape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestMaxReplicasIsTheSmallerMaximum(t *testing.T) {
	hpa := func(max int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: max},
		}
	}
	for _, tc := range []struct {
		name string
		own  *int32
		hpa  *autoscalingv2.HorizontalPodAutoscaler
		want *int32
	}{
		{"neither sets one", nil, nil, nil},
		{"only the NodeSet sets one", new(int32(5)), nil, new(int32(5))},
		{"only the HPA sets one", nil, hpa(20), new(int32(20))},
		{"the NodeSet's is smaller", new(int32(5)), hpa(20), new(int32(5))},
		{"the HPA's is smaller", new(int32(100)), hpa(20), new(int32(20))},
		{"the NodeSet allows no worker", new(int32(0)), hpa(20), new(int32(0))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{MaxReplicas: tc.own}}
			if diff := cmp.Diff(tc.want, MaxReplicas(n, tc.hpa)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
