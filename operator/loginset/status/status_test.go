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
	l := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	for want, deployment := range map[metav1.Condition]*appsv1.Deployment{
		{Status: "True", Reason: "Available", Message: "1 of 2 login pods are available"}: {
			Status: appsv1.DeploymentStatus{Replicas: 2, AvailableReplicas: 1}},
		{Status: "False", Reason: "Progressing", Message: "spec.replicas is 0: nobody can log in"}: {
			Spec: appsv1.DeploymentSpec{Replicas: new(int32)}},
		{Status: "False", Reason: "Progressing", Message: "the Deployment of the login pods is being created"}: nil,
	} {
		got := *meta.FindStatusCondition(Of(noon, l, deployment, nil).Conditions, v1beta1.ConditionReady)
		want.Type, want.ObservedGeneration, want.LastTransitionTime = "Ready", 7, metav1.NewTime(noon)
		if got != want {
			t.Errorf("the condition is %+v, not %+v", got, want)
		}
	}
}

func TestScaleSubresource(t *testing.T) {
	l := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Name: "login"}}
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 3}}
	got := Of(time.Time{}, l, d, nil)
	const want = "app.kubernetes.io/instance=login,app.kubernetes.io/name=login"
	if got.Selector != want || got.Replicas != 3 {
		t.Errorf("the status is %+v", got)
	}
	l.Status = got
	if got = Of(time.Time{}, l, nil, nil); got.Selector != want || got.Replicas != 0 {
		t.Errorf("without a Deployment the status is %+v", got)
	}
}
