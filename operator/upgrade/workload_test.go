package upgrade

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestAStatefulSetThatIsScaledInDuringAnUpgrade: the pod that goes is the only one with the new image.
func TestAStatefulSetThatIsScaledInDuringAnUpgrade(t *testing.T) {
	one := int32(1)
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &one, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "slurmctld", Image: imageNew}}}}},
		Status: appsv1.StatefulSetStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 1, CurrentReplicas: 1}}
	if w, _ := newWorkload(set, "slurmctld"); w.isComplete {
		t.Error("it is complete while the only slurmctld that stays has the old image")
	}
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if w, _ := newWorkload(set, "slurmctld"); !w.isComplete {
		t.Error("it is not complete with its one pod")
	}
}
