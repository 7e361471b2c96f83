package restapi

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

func TestARestApiThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	s := newStore(t, newController(""))
	r := New(s, s, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmrestd:1"})
	kubetest.CheckHeldIsLeftAlone(t, s, kubetest.Get(t, s, "api", &v1beta1.RestApi{}), kubetest.Noon(), func() error {
		_, err := r.Reconcile(t.Context(), kubetest.Request("api"))
		return err
	})
}

func TestASlurmrestdOfAnotherOperatorStays(t *testing.T) {
	s := newStore(t, newController(""))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "api-restapi"}}
	kubetest.CheckForeignWorkloadStays(t, s, kubetest.Get(t, s, "api", &v1beta1.RestApi{}), deployment,
		func() error { return reconcileOnce(t, s) })
}
