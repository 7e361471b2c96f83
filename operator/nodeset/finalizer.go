package nodeset

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// hasFinalizer reports whether the NodeSet has our finalizer.
func hasFinalizer(n *v1beta1.NodeSet) bool {
	return controllerutil.ContainsFinalizer(n, v1beta1.FinalizerDrain)
}

// addFinalizer adds the finalizer to a NodeSet that is not being deleted.
func (r *Reconciler) addFinalizer(ctx context.Context, n *v1beta1.NodeSet) error {
	if n.DeletionTimestamp != nil || hasFinalizer(n) {
		return nil
	}
	return r.patchFinalizers(ctx, n, append(n.Finalizers[:len(n.Finalizers):len(n.Finalizers)], v1beta1.FinalizerDrain))
}

// removeFinalizer removes the finalizer: nothing of the NodeSet is left.
func (r *Reconciler) removeFinalizer(ctx context.Context, n *v1beta1.NodeSet) error {
	rest := []string{}
	for _, f := range n.Finalizers {
		if f != v1beta1.FinalizerDrain {
			rest = append(rest, f)
		}
	}
	return ignoreNotFound(r.patchFinalizers(ctx, n, rest))
}

func (r *Reconciler) patchFinalizers(ctx context.Context, n *v1beta1.NodeSet, finalizers []string) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers,
		"resourceVersion": n.ResourceVersion}})
	if err != nil {
		return err
	}
	if err := r.client.Patch(ctx, n, client.RawPatch(types.MergePatchType, data),
		client.FieldOwner(FieldManager)); err != nil {
		return fmt.Errorf("changing the finalizers of nodeset %s: %w", n.Name, err)
	}
	return nil
}
