package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// deleteOtherServices deletes the Services that the operator made for a Controller and that it no longer
// needs, such as the Services of removed backups.
func (r *Reconciler) deleteOtherServices(ctx context.Context, c *v1beta1.Controller, wanted []podspec.KubeObject) error {
	list, from := &corev1.ServiceList{}, client.Reader(r.Client)
	if len(wanted) == 0 { // afterwards nobody looks again, and the garbage collector does not delete what the namespace owns
		from = r.Uncached
	}
	err := from.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingLabels(names.SlurmctldSelector(c.Name)))
	if err != nil {
		return fmt.Errorf("listing the Services of slurmctld: %w", err)
	}
	for i := range list.Items {
		service := &list.Items[i]
		isWanted := slices.ContainsFunc(wanted, func(w podspec.KubeObject) bool {
			_, isService := w.(*corev1.Service)
			return isService && w.GetName() == service.Name
		})
		if isWanted || service.Annotations[v1beta1.AnnotationAppliedHash] == "" { // another operator's, such as the workers'
			continue
		}
		if err := r.DeleteAll(ctx, c, service); err != nil {
			return err
		}
	}
	return nil
}
