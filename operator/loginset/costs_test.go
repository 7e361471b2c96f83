package loginset

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
)

// agents are the sessions of login pods by the pods' addresses. Those that are missing do not answer.
type agents struct{ sessions map[string]int }

func newAgents(sessions map[string]int) agents { return agents{sessions} }

func (a agents) read(_ context.Context, podIP string) (configagent.Status, error) {
	sessions, ok := a.sessions[podIP]
	if !ok {
		return configagent.Status{}, errors.New("connection refused")
	}
	return configagent.Status{Sessions: &sessions}, nil
}

func TestCostOf(t *testing.T) {
	for sessions, want := range map[int]string{-1: "0", 0: "0", 1: "1", 2: "2", 3: "2", 4: "3", 100: "7"} {
		if got := costOf(sessions); got != want {
			t.Errorf("%d sessions cost %s, want %s", sessions, got, want)
		}
	}
}

// newLoginPod returns a login pod with an address and a deletion cost, empty for none.
func newLoginPod(name, address, cost string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", Labels: names.LoginSelector("login")}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "login-5c8d", Controller: new(true)}}
	if cost != "" {
		pod.Annotations = map[string]string{corev1.PodDeletionCost: cost}
	}
	pod.Status.PodIP = address
	return pod
}

// TestPodsWithSessionsCostMore also checks that a pod whose sessions are not known keeps its cost, and that nothing
// is written while nothing changes.
func TestPodsWithSessionsCostMore(t *testing.T) {
	store := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"),
		newLoginPod("busy", "10.0.0.1", ""), newLoginPod("empty", "10.0.0.2", "2"),
		newLoginPod("silent", "10.0.0.3", "1"), newLoginPod("starting", "", ""))
	impostor := newLoginPod("impostor", "10.0.0.1", "")
	impostor.OwnerReferences = nil
	if err := store.Create(t.Context(), impostor); err != nil {
		t.Fatal(err)
	}
	l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
	l.Spec.Replicas = new(int32(4))
	if err := store.Update(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	said := newAgents(map[string]int{"10.0.0.1": 5, "10.0.0.2": 0})
	r := New(store, store, said.read, events.NewFakeRecorder(10), time.Now, Config{Image: "login:1"})
	name := client.ObjectKey{Namespace: "team", Name: "login"}
	for range 2 {
		store.Writes = 0
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		if err != nil {
			t.Fatal(err)
		}
		if result.RequeueAfter != sessionInterval {
			t.Errorf("the sessions are counted again after %s", result.RequeueAfter)
		}
	}
	if store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", store.Writes)
	}
	for pod, want := range map[string]string{"busy": "3", "empty": "0", "silent": "1", "starting": "", "impostor": ""} {
		if got := kubetest.Get(t, store, pod, &corev1.Pod{}).Annotations[corev1.PodDeletionCost]; got != want {
			t.Errorf("pod %s costs %q, want %q", pod, got, want)
		}
	}
}

// withoutDeployments is a cache that has not seen a Deployment yet.
type withoutDeployments struct{ client.Client }

func (c withoutDeployments) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, ok := into.(*appsv1.Deployment); ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, key.Name)
	}
	return c.Client.Get(ctx, key, into, options...)
}

// TestSessionsAreCountedBeforeAScaleInThatTheStatusDoesNotShow: the operator may have been killed before it wrote how
// many login pods there are, and its cache may lag.
func TestSessionsAreCountedBeforeAScaleInThatTheStatusDoesNotShow(t *testing.T) {
	store := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"), newLoginPod("busy", "10.0.0.1", ""))
	said := newAgents(map[string]int{"10.0.0.1": 1})
	r := New(withoutDeployments{store}, store, said.read, events.NewFakeRecorder(10), time.Now, Config{Image: "login:1"})
	for _, replicas := range []int32{3, 1} {
		l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
		l.Spec.Replicas, l.Status.Replicas = &replicas, 1
		if err := store.Update(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		said.sessions["10.0.0.1"] += 2
		if _, err := r.Reconcile(t.Context(), kubetest.Request("login")); err != nil {
			t.Fatal(err)
		}
	}
	if got := kubetest.Get(t, store, "busy", &corev1.Pod{}).Annotations[corev1.PodDeletionCost]; got != costOf(5) {
		t.Errorf("when the pods become fewer a pod with 5 sessions costs %q", got)
	}
}
