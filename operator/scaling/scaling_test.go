package scaling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

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

func TestReplicas(t *testing.T) {
	for _, tc := range []struct {
		name          string
		replicas      *int32
		mode          v1beta1.ScalingMode
		inStatus      int32
		spec, desired int32
	}{
		{"unset", nil, v1beta1.ScalingModeStatefulSet, 7, 1, 1},
		{"zero", new(int32(0)), "", 7, 0, 0},
		{"some", new(int32(3)), v1beta1.ScalingModeStatefulSet, 7, 3, 3},
		{"negative, which the schema refuses", new(int32(-2)), v1beta1.ScalingModeStatefulSet, 7, 0, 0},
		{"one for each Kubernetes node", new(int32(3)), v1beta1.ScalingModeDaemonSet, 7, 3, 7},
		{"one for each of no Kubernetes nodes", nil, v1beta1.ScalingModeDaemonSet, 0, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{Replicas: tc.replicas, ScalingMode: tc.mode}}
			n.Status.Desired = tc.inStatus
			if spec, desired := SpecReplicas(n), DesiredReplicas(n); spec != tc.spec || desired != tc.desired {
				t.Errorf("spec.replicas is %d, desired are %d", spec, desired)
			}
		})
	}
}

func TestIsAsleep(t *testing.T) {
	condition := func(of autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus,
		reason string) autoscalingv2.HorizontalPodAutoscalerCondition {
		return autoscalingv2.HorizontalPodAutoscalerCondition{Type: of, Status: status, Reason: reason}
	}
	disabled := condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled")
	for _, tc := range []struct {
		name       string
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		want       bool
	}{
		{"no conditions yet", nil, true},
		{"only another condition", []autoscalingv2.HorizontalPodAutoscalerCondition{
			condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale")}, true},
		{"scaling is disabled", []autoscalingv2.HorizontalPodAutoscalerCondition{disabled}, true},
		{"it computes its metrics", []autoscalingv2.HorizontalPodAutoscalerCondition{
			condition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound")}, false},
		{"it failed to read its metrics", []autoscalingv2.HorizontalPodAutoscalerCondition{
			condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetObjectMetric")}, false},
		{"it scaled to zero itself", []autoscalingv2.HorizontalPodAutoscalerCondition{disabled,
			condition(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero")}, false},
		{"it scaled to zero itself and has no other condition", []autoscalingv2.HorizontalPodAutoscalerCondition{
			condition(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero")}, false},
		{"it did not scale to zero itself", []autoscalingv2.HorizontalPodAutoscalerCondition{disabled,
			condition(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := &autoscalingv2.HorizontalPodAutoscaler{}
			h.Status.Conditions = tc.conditions
			if got := IsAsleep(h); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestHPAsOfNodeSets(t *testing.T) {
	for _, tc := range []struct {
		name, kind, version string
		want                bool
	}{
		{"a NodeSet", "NodeSet", "slinky.slurm.net/v1beta1", true},
		{"of an older version", "NodeSet", "slinky.slurm.net/v1alpha1", true},
		{"of another group", "NodeSet", "example.com/v1", false},
		{"a Deployment", "Deployment", "apps/v1", false},
		{"without a version", "NodeSet", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			hpa := &autoscalingv2.HorizontalPodAutoscaler{}
			hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: tc.kind, APIVersion: tc.version,
				Name: "gpu"}
			if got := TargetsNodeSet(hpa); got != tc.want {
				t.Errorf("TargetsNodeSet is %v", got)
			}
		})
	}
}
