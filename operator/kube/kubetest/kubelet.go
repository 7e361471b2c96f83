package kubetest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// AnswerLookups ends the pods that look up the release of Slurm in an image, as the kubelet does. outputs are what the
// programs print, by image; those of other images cannot be started.
func AnswerLookups(t *testing.T, s *Store, outputs map[string]string) {
	t.Helper()
	for _, pod := range LookupPods(t, s) {
		ended := &corev1.ContainerStateTerminated{Message: outputs[pod.Spec.Containers[0].Image],
			FinishedAt: metav1.NewTime(Noon())}
		if ended.Message == "" {
			ended.ExitCode, ended.Message = 127, "not found"
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: ended}}}
		if err := s.Status().Update(t.Context(), &pod); err != nil {
			t.Fatal(err)
		}
	}
}

// LookupPods returns the pods that look up a release.
func LookupPods(t *testing.T, s *Store) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	err := s.List(t.Context(), pods, client.MatchingLabels{v1beta1.LabelAppName: v1beta1.AppReleaseLookup})
	if err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// NextEvent returns the next event that was recorded, or "" if there is none.
func NextEvent(recorder *events.FakeRecorder) string {
	select {
	case event := <-recorder.Events:
		return event
	default:
		return ""
	}
}

// RollOut makes all pods of the StatefulSets and Deployments ready and gives them the newest template, as Kubernetes
// does.
func RollOut(t *testing.T, s *Store) {
	t.Helper()
	sets, deployments := &appsv1.StatefulSetList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{sets, deployments} {
		if err := s.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	var changed []client.Object
	for i := range sets.Items {
		o := &sets.Items[i]
		o.Status.ObservedGeneration, o.Status.Replicas = o.Generation, *o.Spec.Replicas
		o.Status.UpdatedReplicas, o.Status.ReadyReplicas = *o.Spec.Replicas, *o.Spec.Replicas
		changed = append(changed, o)
	}
	for i := range deployments.Items {
		o := &deployments.Items[i]
		replicas := int32(1)
		if o.Spec.Replicas != nil {
			replicas = *o.Spec.Replicas
		}
		o.Status.ObservedGeneration, o.Status.Replicas = o.Generation, replicas
		o.Status.UpdatedReplicas, o.Status.ReadyReplicas, o.Status.AvailableReplicas = replicas, replicas, replicas
		changed = append(changed, o)
	}
	for _, o := range changed {
		if err := s.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}
