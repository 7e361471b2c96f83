package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Apply creates an object or corrects it by server-side apply (KEP-555): fields that are wanted get
// their value, fields that were wanted before are removed, and those of others stay. It writes nothing
// if that is already so. An object of another owner is left alone, as is a workload that another operator made, and
// one that the API server finds invalid is not written: *problem.Error. An object that was read and has been replaced since is
// a conflict.
//
// c may read from a cache that holds only some objects; an object that is not in it is looked for with
// uncached.
func Apply(ctx context.Context, c client.Client, uncached client.Reader, want client.Object,
	owner client.FieldOwner) error {
	wanted, err := newApplyObject(want)
	if err != nil {
		return err
	}
	live, ok := reflect.New(reflect.TypeOf(want).Elem()).Interface().(client.Object)
	if !ok {
		return fmt.Errorf("applying %s: it is no object", describeObject(want))
	}
	live.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind()) // objects without a type need it
	err = c.Get(ctx, client.ObjectKeyFromObject(want), live)
	if apierrors.IsNotFound(err) {
		err = uncached.Get(ctx, client.ObjectKeyFromObject(want), live)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading %s: %w", describeObject(want), err)
	case !haveSameController(want, live):
		return problem.New(v1beta1.ReasonObjectTaken,
			"%s exists already and was not made for this object; delete or rename it", describeObject(want))
	default:
		if err := CheckMaker(live); err != nil {
			return err
		}
		same, err := isApplied(wanted, live)
		if same || err != nil {
			return err
		}
		wanted.SetUID(live.GetUID())
	}
	apply := client.ApplyConfigurationFromUnstructured(wanted)
	err = c.Apply(ctx, apply, owner, client.ForceOwnership)
	switch {
	case isOfUID(err):
		return apierrors.NewConflict(schema.GroupResource{Resource: wanted.GetKind()}, want.GetName(), err)
	case apierrors.IsInvalid(err): // such as a pod without an image
		return problem.New(v1beta1.ReasonInvalidSpec, "the API server refuses %s: %v", describeObject(want), err)
	case err != nil:
		return fmt.Errorf("applying %s: %w", describeObject(want), err)
	}
	return nil
}

// isOfUID reports whether the API server refuses an object because another one has its name now.
func isOfUID(err error) bool {
	cause, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return cause.Field == "metadata.uid"
}

// DeleteOwned deletes an object, given by its kind, namespace and name, that an owner controls. An object
// of another owner stays, and one that is gone is no error.
func DeleteOwned(ctx context.Context, c client.Client, uncached client.Reader, owner metav1.Object,
	object client.Object) error {
	if err := uncached.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(object, owner) || object.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := object.GetUID()
	if err := c.Delete(ctx, object, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s: %w", describeObject(object), err)
	}
	return nil
}

// newApplyObject returns the object as it is applied: without status, and with the hash of what is
// wanted.
func newApplyObject(want client.Object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeObject(want), err)
	}
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &out.Object); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeObject(want), err)
	}
	delete(out.Object, "status")
	if text, err = json.Marshal(out.Object); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describeObject(want), err)
	}
	sum := sha256.Sum256(text)
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1beta1.AnnotationAppliedHash] = hex.EncodeToString(sum[:8])
	out.SetAnnotations(annotations)
	return out, nil
}

// haveSameController reports whether one object controls both. Two objects without one have the same.
func haveSameController(a, b metav1.Object) bool {
	one, other := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	if one == nil || other == nil {
		return one == other
	}
	return one.UID == other.UID
}

// isApplied reports whether the live object has everything that is wanted, and was applied with
// nothing else.
func isApplied(wanted *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[v1beta1.AnnotationAppliedHash] != wanted.GetAnnotations()[v1beta1.AnnotationAppliedHash] {
		return false, nil
	}
	text, err := json.Marshal(live)
	if err != nil {
		return false, fmt.Errorf("encoding %s: %w", describeObject(live), err)
	}
	var has map[string]any
	if err := json.Unmarshal(text, &has); err != nil {
		return false, fmt.Errorf("encoding %s: %w", describeObject(live), err)
	}
	content := wanted.DeepCopy().Object
	delete(content, "kind") // typed objects from a cache do not have them
	delete(content, "apiVersion")
	return contains(has, content), nil
}

// contains reports whether a decoded JSON value has everything of another: all keys of its objects,
// and lists of the same length. An empty object is in everything.
func contains(has, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		object, ok := has.(map[string]any)
		if !ok && len(wanted) > 0 {
			return false
		}
		for key, value := range wanted {
			if !contains(object[key], value) {
				return false
			}
		}
		return true
	case []any:
		list, _ := has.([]any)
		if len(list) != len(wanted) {
			return false
		}
		for i := range wanted {
			if !contains(list[i], wanted[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(has, wanted)
}
