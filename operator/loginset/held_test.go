package loginset

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

func TestALoginSetThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	s := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"))
	r := New(s, s, newAgents(nil).read, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "login:1"})
	kubetest.CheckHeldIsLeftAlone(t, s, kubetest.Get(t, s, "login", &v1beta1.LoginSet{}), kubetest.Noon(), func() error {
		_, err := r.Reconcile(t.Context(), kubetest.Request("login"))
		return err
	})
}

func TestLoginPodsOfAnotherOperatorStay(t *testing.T) {
	s := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"))
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "login"}}
	kubetest.CheckForeignWorkloadStays(t, s, kubetest.Get(t, s, "login", &v1beta1.LoginSet{}), deployment,
		func() error { return reconcileOnce(t, s) })
}
