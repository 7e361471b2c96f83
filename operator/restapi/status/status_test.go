package status

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestReady(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	api := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	deployment := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 2, AvailableReplicas: 1}}
	status := Of(noon, api, deployment, nil)
	got := *meta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady)
	want := metav1.Condition{Type: "Ready", Status: "True", Reason: "Available", ObservedGeneration: 7,
		Message: "1 of 2 pods of slurmrestd are available", LastTransitionTime: metav1.NewTime(noon)}
	if got != want {
		t.Errorf("the condition is %+v, not %+v", got, want)
	}
	if status.Replicas != 2 || Of(noon, api, nil, nil).Replicas != 0 {
		t.Errorf("%d pods exist, and %d without a Deployment", status.Replicas, Of(noon, api, nil, nil).Replicas)
	}
}
