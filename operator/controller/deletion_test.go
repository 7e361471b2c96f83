package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
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
