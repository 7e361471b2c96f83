package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
)

func TestAControllerThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	e := newEnv(t)
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	kubetest.CheckHeldIsLeftAlone(t, e.store, c, time.Now(), func() error {
		_, err := e.reconciler.Reconcile(t.Context(), kubetest.Request("slurm"))
		return err
	})
}

// TestASlurmctldOfAnotherOperatorStays: not even its slurm.conf changes, which it may read again.
func TestASlurmctldOfAnotherOperatorStays(t *testing.T) {
	theirs := newConfigMap("slurm-config", map[string]string{"slurm.conf": "ClusterName=theirs", "cgroup.conf": "x=y"})
	theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: v1beta1.KindController, Name: "slurm", UID: "uid-slurm", Controller: new(true)}}
	e := newEnv(t, theirs)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller",
		Labels: names.SlurmctldSelector("slurm")}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "slurmctld", Image: "slinky/slurmctld:26.05"},
		{Name: "reconfigure", Image: "slinky/slurmctld:26.05"}}
	kubetest.CheckForeignWorkloadStays(t, e.store, kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{}), set,
		func() error {
			_, err := e.reconciler.Reconcile(t.Context(), kubetest.Request("slurm"))
			return err
		})
}
