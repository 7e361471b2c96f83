package kube

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const owner = client.FieldOwner("test")

// newStore returns a store with one NodeSet, and the NodeSet as it is stored.
func newStore(t *testing.T, nodeSet *v1beta1.NodeSet) (client.Client, *v1beta1.NodeSet) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	nodeSet.Namespace, nodeSet.Name = "team", "gpu"
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nodeSet).WithStatusSubresource(nodeSet).Build()
	return store, getNodeSet(t, store)
}

func getNodeSet(t *testing.T, store client.Client) *v1beta1.NodeSet {
	t.Helper()
	out := &v1beta1.NodeSet{}
	if err := store.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "gpu"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNoWriteReplacesWhatAnotherWrote: two writers that have observed the same version keep
// conditions in the same list.
func TestNoWriteReplacesWhatAnotherWrote(t *testing.T) {
	store, observed := newStore(t, &v1beta1.NodeSet{})
	withCondition := func(name string) *v1beta1.NodeSet {
		next := observed.DeepCopy()
		next.Status.Conditions = []metav1.Condition{{Type: name, Status: metav1.ConditionTrue}}
		return next
	}
	if err := PatchStatus(t.Context(), store, observed, withCondition("First"), nil, owner); err != nil {
		t.Fatal(err)
	}
	err := PatchStatus(t.Context(), store, observed, withCondition("Second"), nil, owner)
	if !apierrors.IsConflict(err) || !strings.HasPrefix(err.Error(), "writing the status of NodeSet team/gpu: ") {
		t.Errorf("the second write ends with %v, want a conflict", err)
	}
	if got := getNodeSet(t, store).Status.Conditions; len(got) != 1 || got[0].Type != "First" {
		t.Errorf("the conditions are %+v", got)
	}
	if err := AddFinalizer(t.Context(), store, observed.DeepCopy(), "a/b", owner); !apierrors.IsConflict(err) {
		t.Errorf("a finalizer is added to another version than observed: %v", err)
	}
}

func TestAPatchHasWhatDiffersAndWhatIsRequired(t *testing.T) {
	observed, next := &v1beta1.NodeSet{}, &v1beta1.NodeSet{}
	observed.ResourceVersion, next.ResourceVersion = "7", "7"
	observed.Status = v1beta1.NodeSetStatus{ReadyReplicas: 2, OrdinalToNode: map[string]string{"0": "a", "1": "b"}}
	next.Status = v1beta1.NodeSetStatus{Replicas: 1, OrdinalToNode: map[string]string{"1": "b"}}
	for name, tc := range map[string]struct {
		required map[string]any
		want     map[string]any
	}{
		"nothing is required": {nil, map[string]any{"replicas": 1., "readyReplicas": nil,
			"ordinalToNode": map[string]any{"0": nil}}},
		"a count of zero is": {map[string]any{"readyReplicas": 0, "selector": ""}, map[string]any{"replicas": 1.,
			"readyReplicas": 0., "selector": "", "ordinalToNode": map[string]any{"0": nil}}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := StatusPatch(observed, next, tc.required)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"metadata": map[string]any{"resourceVersion": "7"}, "status": tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinalizersOfOthersStay(t *testing.T) {
	store, n := newStore(t, &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"other/one"}}})
	if err := AddFinalizer(t.Context(), store, n, "our/one", owner); err != nil {
		t.Fatal(err)
	}
	version := n.ResourceVersion
	if err := AddFinalizer(t.Context(), store, n, "our/one", owner); err != nil || n.ResourceVersion != version {
		t.Errorf("a finalizer is added twice: %v", err)
	}
	if got := getNodeSet(t, store).Finalizers; !cmp.Equal(got, []string{"other/one", "our/one"}) {
		t.Errorf("the finalizers are %q", got)
	}
	if err := store.Delete(t.Context(), n.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	n = getNodeSet(t, store)
	if err := AddFinalizer(t.Context(), store, n, "third/one", owner); err != nil || HasFinalizer(n, "third/one") {
		t.Errorf("a finalizer is added to an object that is being deleted: %v", err)
	}
	if err := RemoveFinalizer(t.Context(), store, n, "our/one", owner); err != nil {
		t.Fatal(err)
	}
	if got := getNodeSet(t, store).Finalizers; !cmp.Equal(got, []string{"other/one"}) {
		t.Errorf("the finalizers are %q", got)
	}
	if err := RemoveFinalizer(t.Context(), store, n, "other/one", owner); err != nil {
		t.Fatal(err)
	}
	if err := RemoveFinalizer(t.Context(), store, n, "other/one", owner); err != nil {
		t.Errorf("removing the finalizer of an object that is gone: %v", err)
	}
}

func TestConditionsOfOthersStay(t *testing.T) {
	conditions := func(kinds ...corev1.PodConditionType) []corev1.PodCondition {
		out := []corev1.PodCondition{}
		for _, kind := range kinds {
			out = append(out, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
		}
		return out
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gpu-0"},
		Status: corev1.PodStatus{Conditions: conditions("Ready", "Idle")}}
	store := fake.NewClientBuilder().WithStatusSubresource(pod).WithObjects(pod).Build()
	observed := &corev1.Pod{}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(pod), observed); err != nil {
		t.Fatal(err)
	}
	byKubelet := observed.DeepCopy()
	byKubelet.Status.Conditions = conditions("Ready", "Idle", "ContainersReady")
	if err := store.Status().Update(t.Context(), byKubelet); err != nil {
		t.Fatal(err)
	}
	got, err := PatchPodConditions(t.Context(), store, observed, conditions("Ready", "Drain"), owner)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, c := range got.Status.Conditions {
		kinds = append(kinds, string(c.Type))
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"ContainersReady", "Drain", "Ready"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestResultOf(t *testing.T) {
	nodeSets := schema.GroupResource{Resource: "nodesets"}
	for _, tc := range []struct {
		name  string
		err   error
		after time.Duration
		fails bool
	}{
		{"done", nil, time.Minute, false},
		{"a conflict", errors.Join(apierrors.NewConflict(nodeSets, "gpu", errors.New("old"))), ConflictRetryDelay,
			false},
		{"it exists", apierrors.NewAlreadyExists(nodeSets, "gpu"), ConflictRetryDelay, false},
		{"refused", apierrors.NewForbidden(nodeSets, "gpu", errors.New("no")), 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ResultOf(time.Minute, tc.err)
			if got.RequeueAfter != tc.after || (err != nil) != tc.fails {
				t.Errorf("the result is %+v, %v", got, err)
			}
		})
	}
}
