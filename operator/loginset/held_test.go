package loginset

import (
	"testing"

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
