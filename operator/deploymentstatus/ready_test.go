package deploymentstatus

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/problem"
)

func TestReady(t *testing.T) {
	deployment := func(observed int64, available int32) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "api-restapi", Generation: 2}}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: 2, AvailableReplicas: available}
		return d
	}
	for _, tc := range []struct {
		name       string
		replicas   int32
		deployment *appsv1.Deployment
		reported   *problem.Error
		want       metav1.Condition
	}{
		{"nothing exists", 2, nil, nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "the Deployment of slurmrestd is being created"}},
		{"its controller has not seen it", 2, deployment(1, 2), nil, metav1.Condition{Status: "False",
			Reason: "Progressing", Message: "Deployment api-restapi is being updated"}},
		{"none is available", 2, deployment(2, 0), nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "no pod of Deployment api-restapi is available"}},
		{"none is wanted", 0, deployment(2, 0), nil, metav1.Condition{Status: "False", Reason: "Progressing",
			Message: "spec.replicas is 0: nothing answers"}},
		{"one is available", 2, deployment(2, 1), nil, metav1.Condition{Status: "True", Reason: "Available",
			Message: "1 of 2 pods of slurmrestd are available"}},
		{"a problem counts more than what runs", 2, deployment(2, 2),
			&problem.Error{Reason: "ReferenceNotFound", Message: "no Controller"}, metav1.Condition{Status: "False",
				Reason: "ReferenceNotFound", Message: "no Controller"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.deployment != nil {
				tc.deployment.Spec.Replicas = &tc.replicas
			}
			got := Ready(tc.deployment, tc.reported, Words{Owner: "slurmrestd", Pods: "pods of slurmrestd", AtZero: "nothing answers"})
			if got != tc.want {
				t.Errorf("the condition is %+v, not %+v", got, tc.want)
			}
		})
	}
}
