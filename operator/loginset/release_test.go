package loginset

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// outputs are what sinfo -V prints in the images of the tests.
var outputs = map[string]string{"slurm:24.11": "slurm-wlm 24.11.5", "slurm:26.05": "slurm-wlm 26.05.5"}

// newControllerOf returns a Controller whose slurmctld is of a release.
func newControllerOf(release string) *v1beta1.Controller {
	c := newController()
	c.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "slurmctld:" + release, Release: release}
	return c
}

// newLoginStore returns a store with the Secrets of a LoginSet.
func newLoginStore(t *testing.T, c *v1beta1.Controller) *kubetest.Store {
	t.Helper()
	return newStore(t, c, newSecret("slurm-auth"), newSecret("sssd"))
}

// setImage sets the image of the login pods.
func setImage(t *testing.T, store *kubetest.Store, image string) {
	t.Helper()
	l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
	l.Spec.Login.Raw = []byte(`{"image":"` + image + `"}`)
	if err := store.Update(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// settleRelease reconciles while lookups are answered. It returns the condition ReleaseAllowed, or nil, and the image
// of the Deployment.
func settleRelease(t *testing.T, store *kubetest.Store) (*metav1.Condition, string) {
	t.Helper()
	for range 5 {
		reconcileLogin(t, store)
		kubetest.AnswerLookups(t, store, outputs)
		kubetest.RollOut(t, store)
	}
	if pods := kubetest.LookupPods(t, store); len(pods) > 0 {
		t.Errorf("there are still %d lookups", len(pods))
	}
	l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
	deployment := kubetest.Get(t, store, "login", &appsv1.Deployment{})
	return meta.FindStatusCondition(l.Status.Conditions, v1beta1.ConditionReleaseAllowed),
		deployment.Spec.Template.Spec.Containers[0].Image
}

func TestLoginPodsWaitForSlurmctld(t *testing.T) {
	store := newLoginStore(t, newControllerOf("24.11"))
	setImage(t, store, "slurm:24.11")
	if c, image := settleRelease(t, store); c != nil || image != "slurm:24.11" {
		t.Errorf("of the first image %s the condition is %+v", image, c)
	}
	setImage(t, store, "slurm:26.05")
	c, image := settleRelease(t, store)
	if c == nil || c.Reason != v1beta1.ReasonWaitingForSlurmctld || image != "slurm:24.11" ||
		!strings.Contains(c.Message, "the slurmctld of Controller slurm, which is 24.11") {
		t.Errorf("the condition is %+v, the image %s", c, image)
	}
	next := kubetest.Get(t, store, "slurm", &v1beta1.Controller{})
	next.Status = newControllerOf("26.05").Status
	if err := store.Update(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if c, image := settleRelease(t, store); c == nil || c.Reason != v1beta1.ReasonAllowed || image != "slurm:26.05" {
		t.Errorf("with a newer slurmctld the condition is %+v, the image %s", c, image)
	}
	if s := kubetest.Get(t, store, "login", &v1beta1.LoginSet{}).Status; s.Release != "26.05" || s.NextImage != "" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
}

func TestAnotherImageKilledAtEveryWrite(t *testing.T) {
	kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
		store := newLoginStore(t, newControllerOf("26.05"))
		setImage(t, store, "slurm:24.11")
		if err := reconcileOnce(t, store); err != nil {
			t.Fatal(err)
		}
		setImage(t, store, "slurm:26.05")
		store.Writes = 0
		return store
	}, func(s *kubetest.Store) error {
		kubetest.AnswerLookups(t, s, outputs)
		kubetest.RollOut(t, s)
		return reconcileOnce(t, s)
	})
}
