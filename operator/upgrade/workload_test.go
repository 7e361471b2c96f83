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

// TestAStatefulSetIsStoppedWhenItsPodsAreGone: a pod that ends may still write.
func TestAStatefulSetIsStoppedWhenItsPodsAreGone(t *testing.T) {
	one, none := int32(1), int32(0)
	for _, tc := range []struct {
		wanted               *int32
		pods                 int32
		generation, observed int64
		want                 bool
	}{
		{nil, 0, 1, 1, false}, {&one, 0, 1, 1, false}, {&none, 1, 2, 2, false}, {&none, 0, 2, 1, false}, {&none, 0, 2, 2, true},
	} {
		set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: tc.wanted, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "slurmctld", Image: imageNew}}}}},
			Status: appsv1.StatefulSetStatus{Replicas: tc.pods, ObservedGeneration: tc.observed}}
		set.Generation = tc.generation
		if w, _ := newWorkload(set, "slurmctld"); w.isStopped() != tc.want {
			t.Errorf("with %d pods, generation %d of %d, it is stopped: %t", tc.pods, tc.observed, tc.generation, w.isStopped())
		}
	}
	if !(workload{}).isStopped() {
		t.Error("a workload that is missing is not stopped")
	}
}
