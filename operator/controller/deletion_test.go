package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/names"
)

// TestADeletionWithoutRightsSaysSo: the operator has no right to delete the objects in a namespace that was taken from
// it, and its cache has none of them.
func TestADeletionWithoutRightsSaysSo(t *testing.T) {
	e := newEnv(t)
	e.reconcile()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if err := e.store.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	silent := func(context.Context, string) (configagent.Status, error) { return configagent.Status{}, nil }
	e.reconciler = New(e.store, e.store, silent, e.recorder, time.Now, Config{Namespaces: []string{"elsewhere"}})
	ready := e.reconcile()
	if ready.Reason != v1beta1.ReasonForbidden || !strings.Contains(ready.Message, "rbac.secretNamespaces") {
		t.Errorf("the condition is %+v", ready)
	}
	if err := e.store.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "slurm-controller"},
		&appsv1.StatefulSet{}); err != nil {
		t.Errorf("the StatefulSet: %v", err)
	}
}

// TestADeletionReadsPastTheCache: the garbage collector leaves Services that the namespace owns as well, and a Controller of the
// same name could not take their place.
func TestADeletionReadsPastTheCache(t *testing.T) {
	e := newEnv(t)
	e.reconcile()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if err := e.store.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	e.reconciler.Client = interceptor.NewClient(e.store.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*corev1.ServiceList); is {
				return nil // the cache has none yet
			}
			return c.List(ctx, list, options...)
		},
	})
	if _, err := e.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)}); err != nil {
		t.Fatal(err)
	}
	left := &corev1.ServiceList{}
	if err := e.store.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d Services are left (%v)", len(left.Items), err)
	}
}

// TestADeletionWaitsForFirstWorkers: a NodeSet has made a worker, which its status does not count yet.
func TestADeletionWaitsForFirstWorkers(t *testing.T) {
	e := newEnv(t)
	e.reconcile()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cpu"},
		Spec: v1beta1.NodeSetSpec{ControllerRef: &corev1.LocalObjectReference{Name: "slurm"}}}
	worker := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cpu-0", Labels: names.NodeSetSelector("cpu", "slurm")}}
	if err := errors.Join(e.store.Create(t.Context(), n), e.store.Create(t.Context(), worker), e.store.Delete(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	if ready := e.reconcile(); ready.Reason != v1beta1.ReasonWaitingForNodeSets || !strings.Contains(ready.Message, "cpu") {
		t.Errorf("the condition is %+v", ready)
	}
}
