package restapi

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// newStore returns a store with a RestApi "team/api" of Controller "slurm".
func newStore(t *testing.T, objects ...client.Object) *kubetest.Store {
	t.Helper()
	api := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Name: "api", UID: "uid-api", Generation: 1}}
	api.Spec.ControllerRef.Name = "slurm"
	return kubetest.NewStore(t, api, objects...)
}

// reconcileAPI reconciles the RestApi and returns its condition Ready.
func reconcileAPI(t *testing.T, store *kubetest.Store) metav1.Condition {
	t.Helper()
	name := client.ObjectKey{Namespace: "team", Name: "api"}
	r := New(store, store, events.NewFakeRecorder(10), time.Now, Config{Image: "slurmrestd:1"})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	api := kubetest.Get(t, store, "api", &v1beta1.RestApi{})
	return *meta.FindStatusCondition(api.Status.Conditions, v1beta1.ConditionReady)
}

// reconcileOnce reconciles the RestApi at noon.
func reconcileOnce(t *testing.T, s *kubetest.Store) error {
	t.Helper()
	r := New(s, s, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmrestd:1"})
	_, err := r.Reconcile(t.Context(), kubetest.Request("api"))
	return err
}

func newController(accounting string) *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{}
	if accounting != "" {
		c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: accounting}
	}
	return c
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	store := newStore(t, newController("acct"), &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "acct"}})
	if c := reconcileAPI(t, store); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	deployment := kubetest.Get(t, store, "api-restapi", &appsv1.Deployment{})
	if args := strings.Join(deployment.Spec.Template.Spec.Containers[0].Args, " "); !strings.Contains(args, "slurmdbd") {
		t.Errorf("with an Accounting the arguments are %s", args)
	}
	store.Writes = 0
	if reconcileAPI(t, store); store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", store.Writes)
	}
	deployment.Status.AvailableReplicas, deployment.Status.Replicas = 1, 1
	if err := store.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if c := reconcileAPI(t, store); c.Status != metav1.ConditionTrue {
		t.Errorf("with an available pod the condition is %+v", c)
	}
}

// withSSSDConf gives a Controller the users of a directory.
func withSSSDConf(c *v1beta1.Controller) *v1beta1.Controller {
	c.Spec.SSSDConfRef = &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "sssd"}, Key: "sssd.conf"}
	return c
}

// TestSlurmrestdKnowsTheUsersOfItsController: also of a Controller that is external.
func TestSlurmrestdKnowsTheUsersOfItsController(t *testing.T) {
	external := newController("")
	external.Spec.External, external.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctl", Port: 6817}
	for name, c := range map[string]*v1beta1.Controller{"in Kubernetes": newController(""), "external": external} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, withSSSDConf(c), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sssd"},
				Data: map[string][]byte{"sssd.conf": []byte("x")}})
			reconcileAPI(t, store)
			deployment := kubetest.Get(t, store, "api-restapi", &appsv1.Deployment{})
			if c := deployment.Spec.Template.Spec.InitContainers; len(c) != 1 || c[0].Name != "sssd" || c[0].Image != "slurmrestd:1" {
				t.Errorf("the init containers are %+v", c)
			}
		})
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name    string
		objects []client.Object
		reason  string
		message string
	}{
		{"no Controller", nil, v1beta1.ReasonReferenceNotFound, "there is no Controller slurm"},
		{"no Accounting", []client.Object{newController("acct")}, v1beta1.ReasonReferenceNotFound,
			"there is no Accounting acct"},
		{"no sssd.conf", []client.Object{withSSSDConf(newController(""))}, v1beta1.ReasonReferenceNotFound,
			"spec.sssdConfRef of Controller slurm: there is no Secret sssd"},
		{"a key that sssd.conf does not have", []client.Object{withSSSDConf(newController("")), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sssd"}}},
			v1beta1.ReasonReferenceNotFound, "spec.sssdConfRef of Controller slurm: Secret sssd has no key sssd.conf"},
		{"a namespace that refuses SSSD", []client.Object{withSSSDConf(newController("")), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "team", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}}, v1beta1.ReasonInvalidSpec, "restricted"},
		{"a Service of somebody else", []client.Object{newController(""), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "api-restapi"}}}, v1beta1.ReasonObjectTaken, "Service team/api-restapi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := newStore(t, tc.objects...)
			if c := reconcileAPI(t, store); c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

// TestIncludedOptionsReachSlurmrestd: it has a slurm.conf of its own.
func TestIncludedOptionsReachSlurmrestd(t *testing.T) {
	c := newController("")
	c.Spec.ExtraConf, c.Spec.ConfigFileRefs = "Include site.conf", []corev1.LocalObjectReference{{Name: "site"}}
	store := newStore(t, c)
	if ready := reconcileAPI(t, store); ready.Reason != v1beta1.ReasonReferenceNotFound ||
		!strings.Contains(ready.Message, "spec.configFileRefs of Controller slurm: there is no ConfigMap site") {
		t.Errorf("without the file the condition is %+v", ready)
	}
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "site"},
		Data: map[string]string{"site.conf": "MessageTimeout=99\n"}}
	if err := store.Create(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	reconcileAPI(t, store)
	config := kubetest.Get(t, store, "api-restapi-config", &corev1.ConfigMap{})
	if text := config.Data["slurm.conf"]; !strings.Contains(text, "MessageTimeout=99\n") || strings.Contains(text, "Include") {
		t.Errorf("slurm.conf is\n%s", text)
	}
}

func TestReconcilerKilledAtEveryWrite(t *testing.T) {
	kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store { return newStore(t, newController("")) },
		func(s *kubetest.Store) error { return reconcileOnce(t, s) })
}
