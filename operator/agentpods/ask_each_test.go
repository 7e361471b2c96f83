package agentpods

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAskEachEnds although most agents never answer. Each of these takes three seconds.
func TestAskEachEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := make([]corev1.Pod, 1000)
		for i := range pods {
			pods[i].Name = "silent"
		}
		pods[0].Name, pods[1].Name = "a", "b"
		began := time.Now()
		answers := AskEach(t.Context(), pods, func(ctx context.Context, pod *corev1.Pod) string {
			if pod.Name != "silent" {
				return pod.Name
			}
			select {
			case <-ctx.Done():
			case <-time.After(3 * time.Second):
			}
			return ""
		})
		if took := time.Since(began); took > passTimeout {
			t.Errorf("it takes %s", took)
		}
		if len(answers) != 1000 || answers[0] != "a" || answers[1] != "b" || answers[2] != "" {
			t.Errorf("the answers are %q", answers[:3])
		}
	})
}

// newSet returns a StatefulSet with replicas.
func newSet(name string, uid types.UID, replicas int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}
}

// TestIsPodOf: labels are no proof, since the creator of a pod chooses them.
func TestIsPodOf(t *testing.T) {
	const set = "slurm-controller"
	for _, tc := range []struct {
		name, pod string
		owner     types.UID
		want      bool
	}{
		{"its first", "slurm-controller-0", "uid", true},
		{"its second", "slurm-controller-1", "uid", true},
		{"beyond its replicas", "slurm-controller-2", "uid", false},
		{"of a former set of the name", "slurm-controller-0", "former", false},
		{"without an owner", "slurm-controller-0", "", false},
		{"of another name", "slurm-controller-x", "uid", false},
		{"with another number", "slurm-controller-00", "uid", false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: tc.pod}}
		if tc.owner != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: set, UID: tc.owner, Controller: new(true)}}
		}
		if got := isPodOf(newSet(set, "uid", 2), pod); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}
