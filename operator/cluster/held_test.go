package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
)

func TestAClusterThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	s := kubetest.NewStore(t, &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "red", Generation: 1}})
	r := New(s, slurmclients.New(slurmclients.Config{Access: access.Config{Secrets: fakeSecrets{}}}), kubetest.Noon)
	kubetest.CheckHeldIsLeftAlone(t, s, kubetest.Get(t, s, "red", &v1beta1.Cluster{}), kubetest.Noon(), func() error {
		_, err := r.Reconcile(t.Context(), kubetest.Request("red"))
		return err
	})
}
