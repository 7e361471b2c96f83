package controller

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
)

func wantServiceMonitor(s *v1beta1.ControllerSpec) {
	s.Metrics = v1beta1.Metrics{Enabled: true, ServiceMonitor: &v1beta1.ServiceMonitor{Enabled: true, Interval: "30s"}}
}

// findServiceMonitor returns the ServiceMonitor, or nil if there is none.
func (e *env) findServiceMonitor() *unstructured.Unstructured {
	e.t.Helper()
	out := render.NewServiceMonitor(&v1beta1.Controller{})
	out.SetName("slurm-controller")
	err := e.store.Get(e.t.Context(), client.ObjectKey{Namespace: "team", Name: out.GetName()}, out)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		e.t.Fatal(err)
	}
	return out
}

// TestServiceMonitorComesAndGoes: it selects the Service for clients and no other, follows the spec, and is deleted
// when it is not wanted any more.
func TestServiceMonitorComesAndGoes(t *testing.T) {
	e := newEnv(t)
	e.change(wantServiceMonitor)
	e.reconcile()
	monitor := e.findServiceMonitor()
	if monitor == nil {
		t.Fatal("there is no ServiceMonitor")
	}
	selector, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil {
		t.Fatal(err)
	}
	services := &corev1.ServiceList{}
	if err := e.store.List(t.Context(), services, client.InNamespace("team"), client.MatchingLabels(selector)); err != nil {
		t.Fatal(err)
	}
	if len(services.Items) != 1 || services.Items[0].Name != "slurm-controller" {
		t.Errorf("it selects %d Services: %v", len(services.Items), services.Items)
	}
	e.change(func(s *v1beta1.ControllerSpec) {
		s.Metrics.ServiceMonitor.Endpoints = []v1beta1.MetricsEndpoint{{Path: "/metrics/jobs", Interval: "5s"}}
	})
	e.reconcile()
	endpoints, _, err := unstructured.NestedSlice(e.findServiceMonitor().Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 || endpoints[0].(map[string]any)["interval"] != "5s" {
		t.Errorf("its endpoints are %v, %v", endpoints, err)
	}
	e.change(func(s *v1beta1.ControllerSpec) { s.Metrics.ServiceMonitor = nil })
	e.reconcile()
	if monitor := e.findServiceMonitor(); monitor != nil {
		t.Errorf("it is still there: %v", monitor)
	}
}

// TestNoServiceMonitorCanBeMade: slurmctld runs all the same, and the status says what is missing.
func TestNoServiceMonitorCanBeMade(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"unknown": {&meta.NoKindMatchError{GroupKind: render.ServiceMonitorKind.GroupKind()}, "no ServiceMonitors"},
		"forbidden": {apierrors.NewForbidden(render.ServiceMonitorKind.GroupVersion().WithResource("servicemonitors").
			GroupResource(), "slurm-controller", nil), "update the chart"},
		"invalid": {apierrors.NewInvalid(render.ServiceMonitorKind.GroupKind(), "slurm-controller", nil), "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.reconciler.Client = interceptor.NewClient(e.store.Client.(client.WithWatch), interceptor.Funcs{
				Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
					if u, ok := o.(interface{ GetKind() string }); ok && u.GetKind() == render.ServiceMonitorKind.Kind {
						return tc.err
					}
					return c.Apply(ctx, o, options...)
				},
			})
			e.change(wantServiceMonitor)
			ignored := e.reconcileFor(v1beta1.ConditionFieldsIgnored)
			if !strings.Contains(ignored.Message, "spec.metrics.serviceMonitor has no effect") ||
				!strings.Contains(ignored.Message, tc.want) {
				t.Errorf("the condition is %+v", ignored)
			}
			e.slurmConf() // fails if it has not been made
		})
	}
}
