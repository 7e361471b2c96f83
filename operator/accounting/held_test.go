package accounting

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

func TestAnAccountingThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	e := newEnv(t)
	read := func(context.Context, string) (configagent.Status, error) { return e.agent, nil }
	r := New(e.store, e.store, read, e.recorder, kubetest.Noon, Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
	a := kubetest.Get(t, e.store, "acct", &v1beta1.Accounting{})
	kubetest.CheckHeldIsLeftAlone(t, e.store, a, kubetest.Noon(), func() error {
		_, err := r.Reconcile(t.Context(), kubetest.Request("acct"))
		return err
	})
}

func TestASlurmdbdOfAnotherOperatorStays(t *testing.T) {
	e := newEnv(t)
	read := func(context.Context, string) (configagent.Status, error) { return e.agent, nil }
	r := New(e.store, e.store, read, e.recorder, kubetest.Noon, Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "acct-accounting"}}
	kubetest.CheckForeignWorkloadStays(t, e.store, kubetest.Get(t, e.store, "acct", &v1beta1.Accounting{}), set,
		func() error {
			_, err := r.Reconcile(t.Context(), kubetest.Request("acct"))
			return err
		})
}
