package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// monitorRetryInterval is when a ServiceMonitor that could not be made is tried again.
const monitorRetryInterval = time.Minute

// reconcileServiceMonitor applies or deletes the ServiceMonitor of a Controller. One that cannot be made does not keep
// slurmctld from running: the field is returned as ignored. Call it before the Service is applied, because the label of
// the Service records that a ServiceMonitor has to be deleted.
func (r *Reconciler) reconcileServiceMonitor(ctx context.Context, c *v1beta1.Controller) ([]v1beta1.IgnoredField, error) {
	if !r.MayRunIn(c.Namespace) {
		return nil, nil
	}
	if !render.WantsServiceMonitor(c) {
		return nil, r.deleteServiceMonitor(ctx, c)
	}
	reported, err := problem.Split(kube.Apply(ctx, r.Client, r.Uncached, render.ServiceMonitor(c), r.Owner))
	switch {
	case reported != nil: // somebody else's, or invalid
		return []v1beta1.IgnoredField{{Field: "metrics.serviceMonitor", Explanation: "has no effect: " + reported.Error()}}, nil
	case meta.IsNoMatchError(err):
		return []v1beta1.IgnoredField{{Field: "metrics.serviceMonitor", Explanation: "has no effect: this Kubernetes has " +
			"no ServiceMonitors (" + render.ServiceMonitorKind.GroupVersion().String() + "), which the Prometheus operator brings"}}, nil
	case apierrors.IsForbidden(err):
		return []v1beta1.IgnoredField{{Field: "metrics.serviceMonitor",
			Explanation: fmt.Sprintf("has no effect: %v; update the chart slurm-operator", err)}}, nil
	}
	return nil, err
}

// deleteServiceMonitor deletes the ServiceMonitor of a Controller that has had one.
func (r *Reconciler) deleteServiceMonitor(ctx context.Context, c *v1beta1.Controller) error {
	service := &corev1.Service{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: names.ControllerService(c.Name)}
	if found, err := r.FindOwned(ctx, key, service); !found || service.Labels[v1beta1.LabelMonitored] == "" {
		return err
	}
	err := r.DeleteAll(ctx, c, render.NewServiceMonitor(c))
	if meta.IsNoMatchError(err) || apierrors.IsForbidden(err) { // it could not be made either
		return nil
	}
	return err
}
