package controller

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestASlurmctldOfAnotherOperatorStays: not even its slurm.conf changes, which it may read again. That holds too if its
// StatefulSet lacks the labels of ours, so that the cache does not have it.
func TestASlurmctldOfAnotherOperatorStays(t *testing.T) {
	for name, labels := range map[string]map[string]string{"labels of ours": names.SlurmctldSelector("slurm"), "no labels": nil} {
		t.Run(name, func(t *testing.T) {
			theirs := newConfigMap("slurm-config", map[string]string{"slurm.conf": "ClusterName=theirs", "cgroup.conf": "x=y"})
			theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(),
				Kind: v1beta1.KindController, Name: "slurm", UID: "uid-slurm", Controller: new(true)}}
			e := newEnv(t, theirs)
			e.startReconciler(cacheByLabel{e.store}, time.Now)
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller", Labels: labels}}
			set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "slurmctld", Image: "slinky/slurmctld:26.05"},
				{Name: "reconfigure", Image: "slinky/slurmctld:26.05"}}
			kubetest.CheckForeignWorkloadStays(t, e.store, kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{}), set,
				func() error {
					_, err := e.reconciler.Reconcile(t.Context(), kubetest.Request("slurm"))
					return err
				})
		})
	}
}

// TestServicesOfAnotherOperatorStay: its Service for workers may have labels of slurmctld.
func TestServicesOfAnotherOperatorStay(t *testing.T) {
	e := newEnv(t)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm-workers-slurm",
		Labels: names.SlurmctldSelector("slurm"), OwnerReferences: []metav1.OwnerReference{{Kind: v1beta1.KindController,
			APIVersion: v1beta1.SchemeGroupVersion.String(), Name: "slurm", UID: "uid-slurm", Controller: new(true)}}}}
	if err := e.store.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	e.reconcile()
	e.get("slurm-controller", &corev1.Service{})
	e.get("slurm-workers-slurm", &corev1.Service{})
}

// cacheByLabel does not have StatefulSets without the label that kube.CacheOfOwned selects.
type cacheByLabel struct{ client.Client }

func (c cacheByLabel) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	set := &appsv1.StatefulSet{}
	if _, ok := into.(*appsv1.StatefulSet); ok && c.Client.Get(ctx, key, set) == nil && set.Labels[v1beta1.LabelAppName] == "" {
		return apierrors.NewNotFound(appsv1.Resource("statefulsets"), key.Name)
	}
	return c.Client.Get(ctx, key, into, opts...)
}
