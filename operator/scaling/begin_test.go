package scaling

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// TestTheWaitForTheBeginningEnds when package wakeup reports anything except an unknown demand.
func TestTheWaitForTheBeginningEnds(t *testing.T) {
	hpas := []autoscalingv2.HorizontalPodAutoscaler{newHPAOf("gpu", new(int32))}
	for reason, waits := range map[string]bool{"": true, v1beta1.ReasonDemandUnknown: true, v1beta1.ReasonBeginsAtZero: true,
		v1beta1.ReasonNotNeeded: false, v1beta1.ReasonInvalidAnnotation: false, v1beta1.ReasonWoken: false} {
		n := newNodeSet("gpu")
		n.Generation, n.CreationTimestamp = 1, metav1.NewTime(noon)
		if reason != "" {
			v1beta1.SetCondition(&n.Status.Conditions, v1beta1.ConditionWakeUp, metav1.Condition{Status: "False", Reason: reason}, 1, noon)
		}
		if got := AwaitsBeginning(&n, hpas, noon); got != waits {
			t.Errorf("with %q it waits: %t", reason, got)
		}
	}
}

// newHPAOf returns an HPA with the metric of the required nodes.
func newHPAOf(nodeSet string, least *int32) autoscalingv2.HorizontalPodAutoscaler {
	target := autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1", Kind: "NodeSet", Name: nodeSet}
	return autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: least, MaxReplicas: 4,
		ScaleTargetRef: target, Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ObjectMetricSourceType,
			Object: &autoscalingv2.ObjectMetricSource{DescribedObject: target, Metric: autoscalingv2.MetricIdentifier{Name: RequiredNodesMetric},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI)}}}}}}
}

func TestMayBeginAtZero(t *testing.T) {
	hpa := newHPAOf
	zero := hpa("gpu", new(int32))
	warm := hpa("gpu", new(int32))
	warm.Spec.Metrics = append(warm.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "users"}}})
	onlyUp := hpa("gpu", new(int32))
	onlyUp.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{
		SelectPolicy: new(autoscalingv2.DisabledPolicySelect)}}
	submittable := func(status metav1.ConditionStatus, reason string) func(*v1beta1.NodeSet) {
		return func(n *v1beta1.NodeSet) {
			v1beta1.SetCondition(&n.Status.Conditions, v1beta1.ConditionSubmittable, metav1.Condition{Status: status, Reason: reason}, 1, noon)
		}
	}
	deleted := hpa("gpu", nil)
	deleted.DeletionTimestamp = new(metav1.Now())
	for name, tc := range map[string]struct {
		change func(*v1beta1.NodeSet)
		hpas   []autoscalingv2.HorizontalPodAutoscaler
		want   bool
	}{
		"new, with an HPA that allows none":    {hpas: []autoscalingv2.HorizontalPodAutoscaler{zero}, want: true},
		"beside an HPA of another NodeSet":     {hpas: []autoscalingv2.HorizontalPodAutoscaler{hpa("cpu", nil), zero}, want: true},
		"beside an HPA that is being deleted":  {hpas: []autoscalingv2.HorizontalPodAutoscaler{zero, deleted}, want: true},
		"without replicas":                     {func(n *v1beta1.NodeSet) { n.Spec.Replicas = nil }, []autoscalingv2.HorizontalPodAutoscaler{zero}, true},
		"Slurm accepts jobs":                   {submittable("True", "Records"), []autoscalingv2.HorizontalPodAutoscaler{zero}, true},
		"the records could not be created":     {submittable("False", "RecordsMissing"), []autoscalingv2.HorizontalPodAutoscaler{zero}, true},
		"the records cannot be created":        {submittable("False", "RecordsUnsupported"), []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"Slurm accepts no job without workers": {submittable("False", "ShapeUnknown"), []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"names of Kubernetes nodes":            {submittable("False", "NamesUnknown"), []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"an HPA with another metric":           {hpas: []autoscalingv2.HorizontalPodAutoscaler{warm}},
		"an HPA that never scales down":        {hpas: []autoscalingv2.HorizontalPodAutoscaler{onlyUp}},
		"created after now":                    {func(n *v1beta1.NodeSet) { n.CreationTimestamp = metav1.NewTime(noon.Add(BeginPeriod)) }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"no HPA":                               {},
		"an HPA that keeps one":                {hpas: []autoscalingv2.HorizontalPodAutoscaler{hpa("gpu", nil)}},
		"two HPAs":                             {hpas: []autoscalingv2.HorizontalPodAutoscaler{zero, zero}},
		"the spec was changed":                 {func(n *v1beta1.NodeSet) { n.Generation = 2 }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"it has a worker":                      {func(n *v1beta1.NodeSet) { n.Status.Replicas = 1 }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"its worker has joined a cluster once": {func(n *v1beta1.NodeSet) { n.Annotations = map[string]string{v1beta1.AnnotationSlurmCluster: "c"} }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"more workers are asked for":           {func(n *v1beta1.NodeSet) { n.Spec.Replicas = new(int32(2)) }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"the operator never wakes it":          {func(n *v1beta1.NodeSet) { n.Annotations = map[string]string{v1beta1.AnnotationWake: "never"} }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"it is older":                          {func(n *v1beta1.NodeSet) { n.CreationTimestamp = metav1.NewTime(noon.Add(-BeginPeriod)) }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"it is being deleted":                  {func(n *v1beta1.NodeSet) { n.DeletionTimestamp = new(metav1.Now()) }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
		"one worker per Kubernetes node":       {func(n *v1beta1.NodeSet) { n.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet }, []autoscalingv2.HorizontalPodAutoscaler{zero}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNodeSet("gpu")
			n.Generation, n.Spec.Replicas, n.CreationTimestamp = 1, new(int32(1)), metav1.NewTime(noon.Add(time.Second-BeginPeriod))
			if tc.change != nil {
				tc.change(&n)
			}
			if AwaitsBeginning(&n, tc.hpas, noon) != tc.want {
				t.Error("it waits for its beginning, or does not")
			}
			if got := MayBeginAtZero(&n, tc.hpas, noon); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
