package loginset

import (
	"github.com/google/go-cmp/cmp"
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

// newStore returns a store with a LoginSet "team/login" of Controller "slurm".
func newStore(t *testing.T, objects ...client.Object) *kubetest.Store {
	t.Helper()
	login := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Name: "login", UID: "uid-login", Generation: 1}}
	login.Spec.ControllerRef.Name, login.Spec.SSSDConfRef = "slurm", newSSSDConfRef("sssd")
	return kubetest.NewStore(t, login, objects...)
}

// reconcileLogin reconciles the LoginSet and returns its condition Ready.
func reconcileLogin(t *testing.T, store *kubetest.Store) metav1.Condition {
	t.Helper()
	name := client.ObjectKey{Namespace: "team", Name: "login"}
	r := New(store, store, newAgents(nil).read, events.NewFakeRecorder(10), time.Now, Config{Image: "login:1"})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
	return *meta.FindStatusCondition(l.Status.Conditions, v1beta1.ConditionReady)
}

// reconcileOnce reconciles the LoginSet at noon.
func reconcileOnce(t *testing.T, s *kubetest.Store) error {
	t.Helper()
	r := New(s, s, newAgents(nil).read, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "login:1"})
	_, err := r.Reconcile(t.Context(), kubetest.Request("login"))
	return err
}

func newController() *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "slurm-auth"}}
	return c
}

func newSSSDConfRef(secret string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "sssd.conf"}
}

func newSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	store := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"))
	if c := reconcileLogin(t, store); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	deployment := kubetest.Get(t, store, "login", &appsv1.Deployment{})
	store.Writes = 0
	if reconcileLogin(t, store); store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", store.Writes)
	}
	deployment.Status.AvailableReplicas, deployment.Status.Replicas = 1, 1
	if err := store.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if c := reconcileLogin(t, store); c.Status != metav1.ConditionTrue {
		t.Errorf("with an available pod the condition is %+v", c)
	}
}

// TestTheSelectorStaysWhenTheControllerChanges: that of a Deployment is immutable.
func TestTheSelectorStaysWhenTheControllerChanges(t *testing.T) {
	other := newController()
	other.Name = "other"
	store := newStore(t, newController(), other, newSecret("slurm-auth"), newSecret("sssd"))
	reconcileLogin(t, store)
	before := kubetest.Get(t, store, "login", &appsv1.Deployment{})
	l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
	l.Spec.ControllerRef.Name = "other"
	if err := store.Update(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	reconcileLogin(t, store)
	after := kubetest.Get(t, store, "login", &appsv1.Deployment{})
	if diff := cmp.Diff(before.Spec.Selector, after.Spec.Selector); diff != "" {
		t.Error(diff)
	}
	if cluster := after.Spec.Template.Labels[v1beta1.LabelCluster]; cluster != "other" {
		t.Errorf("the pods are of cluster %q", cluster)
	}
}

func TestHostKeysAreNeverChanged(t *testing.T) {
	mine := newSecret("login-ssh-host-keys")
	mine.Data = map[string][]byte{"ssh_host_ed25519_key": []byte("mine")}
	store := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"), mine)
	reconcileLogin(t, store)
	got := kubetest.Get(t, store, mine.Name, &corev1.Secret{})
	if string(got.Data["ssh_host_ed25519_key"]) != "mine" || len(got.Data) != 1 || len(got.Labels) > 0 {
		t.Errorf("the host keys are %v", got)
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
		{"no key", []client.Object{newController(), newSecret("sssd")}, v1beta1.ReasonReferenceNotFound,
			"slurmKeyRef of Controller slurm: there is no Secret slurm-auth"},
		{"no sssd.conf", []client.Object{newController(), newSecret("slurm-auth")}, v1beta1.ReasonReferenceNotFound,
			"spec.sssdConfRef: there is no Secret sssd"},
		{"a Service of somebody else", []client.Object{newController(), newSecret("slurm-auth"), newSecret("sssd"),
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "login"}}}, v1beta1.ReasonObjectTaken, "Service team/login"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := newStore(t, tc.objects...)
			if c := reconcileLogin(t, store); c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

// TestTheSSSDConfOfTheController is used unless the LoginSet names one.
func TestTheSSSDConfOfTheController(t *testing.T) {
	for _, tc := range []struct {
		name            string
		own, controller *corev1.SecretKeySelector
		want            string
		reason, message string
	}{
		{"its own one", newSSSDConfRef("own"), newSSSDConfRef("shared"), "own", v1beta1.ReasonProgressing, ""},
		{"the Controller's", nil, newSSSDConfRef("shared"), "shared", v1beta1.ReasonProgressing, ""},
		{"the Controller's, without a Secret", nil, newSSSDConfRef("gone"), "", v1beta1.ReasonReferenceNotFound,
			"spec.sssdConfRef of Controller slurm: there is no Secret gone"},
		{"none", nil, nil, "", v1beta1.ReasonInvalidSpec, "spec.sssdConfRef must be given, or spec.sssdConfRef of Controller slurm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newController()
			c.Spec.SSSDConfRef = tc.controller
			store := newStore(t, c, newSecret("slurm-auth"), newSecret("own"), newSecret("shared"))
			l := kubetest.Get(t, store, "login", &v1beta1.LoginSet{})
			l.Spec.SSSDConfRef = tc.own
			if err := store.Update(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if ready := reconcileLogin(t, store); ready.Reason != tc.reason || !strings.Contains(ready.Message, tc.message) {
				t.Errorf("the condition is %+v", ready)
			}
			if tc.want == "" {
				return
			}
			var secrets []string
			for _, v := range kubetest.Get(t, store, "login", &appsv1.Deployment{}).Spec.Template.Spec.Volumes {
				if v.Name == "sssd-secret" {
					secrets = append(secrets, v.Secret.SecretName)
				}
			}
			if diff := cmp.Diff([]string{tc.want}, secrets); diff != "" {
				t.Errorf("Secrets of sssd.conf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReconcilerKilledAtEveryWrite(t *testing.T) {
	kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
		return newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"))
	}, func(s *kubetest.Store) error {
		return reconcileOnce(t, s)
	})
}
