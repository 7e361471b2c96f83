package kubetest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// CheckForeignWorkloadStays checks that a reconciler which takes an object over from another operator leaves the workload
// of that one, and all other objects, as they are, and makes its own when somebody has deleted it.
func CheckForeignWorkloadStays(t *testing.T, s *Store, object heldObject, workload client.Object, reconcile func() error) {
	t.Helper()
	workload.SetNamespace(object.GetNamespace())
	workload.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: "Any", Name: object.GetName(), UID: object.GetUID(), Controller: new(true)}})
	if err := s.Create(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	others := func() map[string]client.Object {
		out := objectsOf(t, s)
		for key, o := range out {
			if o.GetUID() == object.GetUID() {
				delete(out, key) // it gets a finalizer and a status
			}
		}
		return out
	}
	before := others()
	for range 2 {
		if err := reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, others()); diff != "" {
		t.Errorf("more than the object itself has changed (-before +after):\n%s", diff)
	}
	ready := readyOf(t, s, object)
	if ready == nil || ready.Reason != v1beta1.ReasonObjectTaken || !strings.Contains(ready.Message, "--cascade=orphan") {
		t.Fatalf("the condition Ready is %+v", ready)
	}
	if err := s.Delete(t.Context(), workload); err != nil {
		t.Fatal(err)
	}
	if err := reconcile(); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(workload), workload); err != nil ||
		workload.GetAnnotations()[v1beta1.AnnotationAppliedHash] == "" {
		t.Errorf("after its deletion it is %+v, with the error %v", workload, err)
	}
}
