package kubetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/holder"
)

// heldObject is an object that another operator may hold.
type heldObject interface {
	client.Object
	holder.Object
}

// WithManagedFields returns a client that reads objects of our kinds with these managed fields, of which a fake client
// keeps none.
func WithManagedFields(c client.Client, entries ...metav1.ManagedFieldsEntry) client.Client {
	return &managedFieldsClient{c, entries}
}

type managedFieldsClient struct {
	client.Client
	entries []metav1.ManagedFieldsEntry
}

func (c *managedFieldsClient) Get(ctx context.Context, key client.ObjectKey, into client.Object,
	options ...client.GetOption) error {
	err := c.Client.Get(ctx, key, into, options...)
	if _, ours := into.(holder.Object); ours && err == nil {
		into.SetManagedFields(c.entries)
	}
	return err
}

// WrittenBySlinky returns the managed fields of a status that Slinky's operator wrote at a time.
func WrittenBySlinky(at time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate,
		Subresource: "status", Time: new(metav1.NewTime(at)),
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)}
}

// CheckHeldIsLeftAlone checks that a reconciler writes nothing but the condition Ready of an object that Slinky's
// operator has written a minute before now, and that it works on the object when its annotation says so. The clock of
// the reconciler is now.
func CheckHeldIsLeftAlone(t *testing.T, s *Store, object heldObject, now time.Time, reconcile func() error) {
	t.Helper()
	unheld := s.Client
	s.Client = WithManagedFields(unheld, WrittenBySlinky(now.Add(-time.Minute)))
	before, writes := objectsOf(t, s), s.Writes
	for range 2 {
		if err := reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Writes != writes+1 {
		t.Errorf("there are %d writes, not only that of the condition", s.Writes-writes)
	}
	anyConditions := cmpopts.IgnoreTypes([]metav1.Condition{})
	if diff := cmp.Diff(before, objectsOf(t, s), anyConditions); diff != "" {
		t.Errorf("more than the condition has changed (-before +after):\n%s", diff)
	}
	ready := readyOf(t, s, object)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1beta1.ReasonHeldByAnotherOperator ||
		!strings.Contains(ready.Message, `"manager"`) || !strings.Contains(ready.Message, v1beta1.AnnotationTakeOver) {
		t.Fatalf("the condition Ready is %+v", ready)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationTakeOver, now.UTC().Format(time.RFC3339))
	if err := unheld.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	if err := reconcile(); err != nil {
		t.Fatal(err)
	}
	if ready = readyOf(t, s, object); ready == nil || ready.Reason == v1beta1.ReasonHeldByAnotherOperator {
		t.Errorf("after the take-over the condition Ready is %+v", ready)
	}
}

// readyOf reads the condition Ready of an object.
func readyOf(t *testing.T, s *Store, object heldObject) *metav1.Condition {
	t.Helper()
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(*object.ConditionsOf(), v1beta1.ConditionReady)
}
