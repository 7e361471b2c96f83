package controller

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

func TestAControllerThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	e := newEnv(t)
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	kubetest.CheckHeldIsLeftAlone(t, e.store, c, time.Now(), func() error {
		_, err := e.reconciler.Reconcile(t.Context(), kubetest.Request("slurm"))
		return err
	})
}
