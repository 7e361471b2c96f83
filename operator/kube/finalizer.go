package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HasFinalizer reports whether the object has the finalizer.
func HasFinalizer(o client.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}

// AddFinalizer adds the finalizer to an object that lacks it and is not being deleted, and updates
// the object with the response.
func AddFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string,
	owner client.FieldOwner) error {
	if o.GetDeletionTimestamp() != nil || HasFinalizer(o, finalizer) {
		return nil
	}
	return patchFinalizers(ctx, c, o, append(slices.Clone(o.GetFinalizers()), finalizer), owner)
}

// RemoveFinalizer removes the finalizer, and updates the object with the response. An object that
// is gone needs no finalizer to be removed.
func RemoveFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string,
	owner client.FieldOwner) error {
	rest := slices.DeleteFunc(append([]string{}, o.GetFinalizers()...), func(f string) bool { return f == finalizer })
	return client.IgnoreNotFound(patchFinalizers(ctx, c, o, rest, owner))
}

func patchFinalizers(ctx context.Context, c client.Client, o client.Object, finalizers []string,
	owner client.FieldOwner) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers,
		"resourceVersion": o.GetResourceVersion()}})
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, data), owner); err != nil {
		return fmt.Errorf("changing the finalizers of %s: %w", describeObject(o), err)
	}
	return nil
}
