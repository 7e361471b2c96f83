package restapi

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// outputs are what slurmrestd -V prints in the images of the tests.
var outputs = map[string]string{"slurm:24.11": "slurm-wlm 24.11.5", "slurm:26.05": "slurm-wlm 26.05.5"}

// newControllerOf returns a Controller whose slurmctld is of a release.
func newControllerOf(release string) *v1beta1.Controller {
	c := newController("")
	c.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "slurmctld:" + release, Release: release}
	return c
}

// setImage sets the image of slurmrestd.
func setImage(t *testing.T, store *kubetest.Store, image string) {
	t.Helper()
	api := kubetest.Get(t, store, "api", &v1beta1.RestApi{})
	api.Spec.Slurmrestd.Raw = []byte(`{"image":"` + image + `"}`)
	if err := store.Update(t.Context(), api); err != nil {
		t.Fatal(err)
	}
}

// settleRelease reconciles while lookups are answered. It returns the condition ReleaseAllowed, or nil, and the image
// of the Deployment.
func settleRelease(t *testing.T, store *kubetest.Store) (*metav1.Condition, string) {
	t.Helper()
	for range 5 {
		reconcileAPI(t, store)
		kubetest.AnswerLookups(t, store, outputs)
		kubetest.RollOut(t, store)
	}
	if pods := kubetest.LookupPods(t, store); len(pods) > 0 {
		t.Errorf("there are still %d lookups", len(pods))
	}
	api := kubetest.Get(t, store, "api", &v1beta1.RestApi{})
	deployment := kubetest.Get(t, store, "api-restapi", &appsv1.Deployment{})
	return meta.FindStatusCondition(api.Status.Conditions, v1beta1.ConditionReleaseAllowed),
		deployment.Spec.Template.Spec.Containers[0].Image
}

func TestSlurmrestdWaitsForSlurmctld(t *testing.T) {
	store := newStore(t, newControllerOf("24.11"))
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
	if s := kubetest.Get(t, store, "api", &v1beta1.RestApi{}).Status; s.Release != "26.05" || s.NextImage != "" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
}

// TestSlurmctldAsksForTheRelease: it must know that of all daemons before it gets another one.
func TestSlurmctldAsksForTheRelease(t *testing.T) {
	c := newControllerOf("24.11")
	store := newStore(t, c)
	setImage(t, store, "slurm:24.11")
	settleRelease(t, store)
	if s := kubetest.Get(t, store, "api", &v1beta1.RestApi{}).Status; s.Image != "slurm:24.11" || s.Release != "" {
		t.Errorf("before it the status is %+v", s.ReleaseStatus)
	}
	c = kubetest.Get(t, store, "slurm", &v1beta1.Controller{})
	c.Status.NextImage = "slurm:26.05"
	if err := store.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	condition, image := settleRelease(t, store)
	if s := kubetest.Get(t, store, "api", &v1beta1.RestApi{}).Status; s.Release != "24.11" {
		t.Errorf("the status is %+v", s.ReleaseStatus)
	}
	if condition != nil || image != "slurm:24.11" {
		t.Errorf("the condition is %+v, the image %s", condition, image)
	}
}

func TestAnotherImageKilledAtEveryWrite(t *testing.T) {
	kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
		store := newStore(t, newControllerOf("26.05"))
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

// TestSlurmrestdWaitsForASlurmctldThatIsNotRecorded: the operator was killed after it had made the StatefulSet.
func TestSlurmrestdWaitsForASlurmctldThatIsNotRecorded(t *testing.T) {
	c := newController("")
	c.UID = "uid-slurm"
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller", OwnerReferences: []metav1.OwnerReference{
		{Kind: "Controller", Name: "slurm", UID: c.UID, Controller: new(true)}}}}
	set.Spec.Replicas = new(int32(1))
	store := newStore(t, c, set)
	setImage(t, store, "slurm:24.11")
	settleRelease(t, store)
	setImage(t, store, "slurm:26.05")
	if c, image := settleRelease(t, store); c == nil || c.Reason != v1beta1.ReasonUnknown || image != "slurm:24.11" {
		t.Errorf("the condition is %+v, the image %s", c, image)
	}
}
