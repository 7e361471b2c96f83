package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// outputs are what slurmctld -V prints in the images of the tests.
var outputs = map[string]string{"slurm:24.11": "slurm-wlm 24.11.5", "slurm:26.05": "slurm-wlm 26.05.5"}

// newAccounting returns the Accounting "acct", which has rolled out a release.
func newAccounting(release string) *v1beta1.Accounting {
	a := &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "acct"}}
	a.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "slurmdbd:" + release, Release: release}
	return a
}

// setImage gives the Controller an image and an Accounting.
func (e *env) setImage(image string) {
	e.t.Helper()
	e.change(func(s *v1beta1.ControllerSpec) {
		s.AccountingRef = &corev1.LocalObjectReference{Name: "acct"}
		s.Slurmctld.Raw = []byte(`{"image":"` + image + `"}`)
	})
}

// settleRelease reconciles while lookups are answered, and returns the condition ReleaseAllowed, or nil.
func (e *env) settleRelease() *metav1.Condition {
	e.t.Helper()
	for range 5 {
		e.reconcile()
		kubetest.AnswerLookups(e.t, e.store, outputs)
	}
	if pods := kubetest.LookupPods(e.t, e.store); len(pods) > 0 {
		e.t.Errorf("there are still %d lookups, such as of %s", len(pods), pods[0].Spec.Containers[0].Image)
	}
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	return meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionReleaseAllowed)
}

// images returns the images of the StatefulSet's containers.
func (e *env) images() string {
	e.t.Helper()
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	var out []string
	for _, c := range append(set.Spec.Template.Spec.InitContainers, set.Spec.Template.Spec.Containers...) {
		out = append(out, c.Name+" "+c.Image)
	}
	return strings.Join(out, ", ")
}

// newOldSlurmctld returns an env with a slurmctld of 24.11 that runs, and an Accounting of a release.
func newOldSlurmctld(t *testing.T, slurmdbd string) *env {
	t.Helper()
	e := newEnv(t, newAccounting(slurmdbd))
	e.setImage("slurm:24.11")
	if c := e.settleRelease(); c != nil {
		t.Errorf("the first image has the condition %+v", c)
	}
	kubetest.RollOut(t, e.store)
	return e
}

func TestSlurmctldWaitsForSlurmdbd(t *testing.T) {
	e := newOldSlurmctld(t, "24.11")
	const before = "install-agent slurm-agent:1, reconfigure slurm:24.11, slurmctld slurm:24.11"
	if got := e.images(); got != before {
		t.Fatalf("the images are %s", got)
	}
	e.setImage("slurm:26.05")
	e.change(func(s *v1beta1.ControllerSpec) { s.ExtraConf = "MailDomain=x" })
	c := e.settleRelease()
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1beta1.ReasonWaitingForSlurmdbd ||
		!strings.Contains(c.Message, "the slurmdbd of Accounting acct, which is 24.11") {
		t.Errorf("the condition is %+v", c)
	}
	if got := e.images(); got != before {
		t.Errorf("while it waits the images are %s", got)
	}
	if !strings.Contains(e.slurmConf(), "MailDomain=x\n") {
		t.Error("the rest of the spec is not applied")
	}
	e.store.Writes = 0
	if e.settleRelease(); e.store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", e.store.Writes)
	}
	a := &v1beta1.Accounting{}
	e.get("acct", a)
	a.Status = newAccounting("26.05").Status
	if err := e.store.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if c := e.settleRelease(); c == nil || c.Reason != v1beta1.ReasonAllowed {
		t.Errorf("with a newer slurmdbd the condition is %+v", c)
	}
	if got, want := e.images(), strings.ReplaceAll(before, "24.11", "26.05"); got != want {
		t.Errorf("the images are %s", got)
	}
	for _, want := range []string{"Warning ReleaseRefused slurmctld 26.05 does not work with the slurmdbd",
		"Normal ReleaseAllowed"} {
		if got := kubetest.NextEvent(e.recorder); !strings.HasPrefix(got, want) {
			t.Errorf("the event is %q, not %q", got, want)
		}
	}
	if more := kubetest.NextEvent(e.recorder); more != "" {
		t.Errorf("there is another event, %q", more)
	}
}

// TestTheStatusShowsARelease: of what all pods have, and a slurmctld of it does not become an older one.
func TestTheStatusShowsARelease(t *testing.T) {
	e := newOldSlurmctld(t, "26.05")
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	set.Status.UpdatedReplicas = 0 // the pod will be the old one for a while
	if err := e.store.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	e.setImage("slurm:26.05")
	e.settleRelease()
	old := v1beta1.ImageRelease{Image: "slurm:24.11", Release: "24.11"}
	current := v1beta1.ImageRelease{Image: "slurm:26.05", Release: "26.05"}
	e.checkStatus(v1beta1.ReleaseStatus{Image: "slurm:24.11", Release: "24.11", NextImage: "slurm:26.05",
		HasRun: true, ImageReleases: []v1beta1.ImageRelease{old, current}})
	kubetest.RollOut(t, e.store)
	e.settleRelease()
	now := v1beta1.ReleaseStatus{Image: "slurm:26.05", Release: "26.05", HasRun: true,
		ImageReleases: []v1beta1.ImageRelease{current}}
	e.checkStatus(now)

	e.setImage("slurm:24.11")
	if c := e.settleRelease(); c == nil || c.Reason != v1beta1.ReasonDowngrade {
		t.Errorf("of the way back the condition is %+v", c)
	}
	if got := e.images(); strings.Contains(got, "24.11") {
		t.Errorf("the images are %s", got)
	}
	e.setImage("slurm:26.05")
	if c := e.settleRelease(); c != nil {
		t.Errorf("after it the condition is %+v", c)
	}
	e.checkStatus(now)
}

// checkStatus checks the releases in the status.
func (e *env) checkStatus(want v1beta1.ReleaseStatus) {
	e.t.Helper()
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	if diff := cmp.Diff(want, c.Status.ReleaseStatus); diff != "" {
		e.t.Errorf("the status (-want +got):\n%s", diff)
	}
}

// TestAnImageWithoutSlurm: what runs goes on, and the condition names the image.
func TestAnImageWithoutSlurm(t *testing.T) {
	e := newOldSlurmctld(t, "26.05")
	before := e.images()
	e.setImage("busybox:1")
	e.reconcile()
	e.reconcile()
	kubetest.AnswerLookups(t, e.store, outputs)
	e.startReconciler(e.store, kubetest.Noon)
	c := e.reconcileFor(v1beta1.ConditionReleaseAllowed)
	if c.Reason != v1beta1.ReasonLookupFailed || !strings.Contains(c.Message, "image busybox:1") || e.images() != before {
		t.Errorf("the condition is %+v, the images %s", c, e.images())
	}
	e.setImage("slurm:24.11")
	if c := e.settleRelease(); c != nil || e.images() != before {
		t.Errorf("after it the condition is %+v, the images %s", c, e.images())
	}
}

// TestARestoredStateIsNotConverted: somebody has stopped slurmctld and put the state of an older release in place. The newer
// slurmctld, which would convert it, is not started while the older image is not allowed yet.
func TestARestoredStateIsNotConverted(t *testing.T) {
	for _, isDeleted := range []bool{false, true} {
		e := newOldSlurmctld(t, "26.05")
		e.setImage("slurm:26.05")
		e.settleRelease()
		kubetest.RollOut(t, e.store)
		e.settleRelease()
		c, set := &v1beta1.Controller{}, &appsv1.StatefulSet{}
		e.get("slurm", c)
		c.Annotations = podspec.MergeMaps(c.Annotations, map[string]string{v1beta1.AnnotationRestoredState: "24.11"})
		e.get("slurm-controller", set)
		set.Spec.Replicas = new(int32(0))
		err := errors.Join(e.store.Update(t.Context(), c), e.store.Update(t.Context(), set))
		set.Status = appsv1.StatefulSetStatus{}
		err = errors.Join(err, e.store.Status().Update(t.Context(), set))
		if isDeleted {
			err = errors.Join(err, e.store.Delete(t.Context(), set))
		}
		if err != nil {
			t.Fatal(err)
		}
		e.setImage("slurm:24.11")
		for range 6 {
			e.reconcile()
			e.get("slurm-controller", set)
			if strings.Contains(e.images(), "slurm:26.05") && *set.Spec.Replicas > 0 {
				t.Fatalf("deleted %v: a slurmctld of 26.05 is started with a state of 24.11", isDeleted)
			}
			kubetest.AnswerLookups(t, e.store, outputs)
		}
		if !strings.Contains(e.images(), "slurm:24.11") || *set.Spec.Replicas != 1 {
			t.Errorf("deleted %v: %d of %s", isDeleted, *set.Spec.Replicas, e.images())
		}
	}
}

func TestASlurmctldThatMovesOutForgetsItsReleases(t *testing.T) {
	e := newOldSlurmctld(t, "24.11")
	e.setImage("slurm:26.05")
	e.settleRelease()
	e.change(func(s *v1beta1.ControllerSpec) {
		s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctl", Port: 7000}
	})
	e.reconcile()
	e.checkStatus(v1beta1.ReleaseStatus{})
}

// TestAStateOutlivesAStatefulSetThatVanishesEarly: the operator is killed at any write of its first reconciliation, then
// somebody deletes the StatefulSet, if there is one, and sets an older image.
func TestAStateOutlivesAStatefulSetThatVanishesEarly(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm-controller"}}
	vanished := 0
	for kill := 1; kill < 20; kill++ {
		e := newEnv(t, newAccounting("26.05"))
		e.setImage("slurm:26.05")
		e.store.Writes = 0
		e.store.Kill = func(write int) (bool, error) {
			if write == kill {
				return false, errors.New("the operator was killed")
			}
			return true, nil
		}
		_, err := e.reconciler.Reconcile(t.Context(), kubetest.Request("slurm"))
		e.store.Kill = nil
		if err == nil {
			break
		}
		if e.store.Delete(t.Context(), set.DeepCopy()) != nil {
			continue
		}
		vanished++
		e.setImage("slurm:24.11")
		if c := e.settleRelease(); c == nil || c.Reason != v1beta1.ReasonDowngrade {
			t.Errorf("killed at write %d, the condition is %+v", kill, c)
		}
	}
	if vanished == 0 {
		t.Error("the operator was never killed after it had made the StatefulSet")
	}
}
