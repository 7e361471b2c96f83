package loginset

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newStore returns a store with a LoginSet "team/login" of Controller "slurm", and a count of its writes.
func newStore(t *testing.T, objects ...client.Object) (client.Client, *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	login := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Name: "login", UID: "uid-login", Generation: 1}}
	login.Spec.ControllerRef.Name, login.Spec.SSSDConfRef.Name = "slurm", "sssd"
	for _, o := range append(objects, login) {
		o.SetNamespace("team")
	}
	writes := new(int)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, login)...).WithStatusSubresource(login).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration,
				options ...client.ApplyOption) error {
				*writes++
				return c.Apply(ctx, o, options...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				*writes++
				return c.Create(ctx, o, options...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
				options ...client.SubResourcePatchOption) error {
				*writes++
				return c.SubResource(sub).Patch(ctx, o, p, options...)
			},
		}).Build(), writes
}

// reconcileLogin reconciles the LoginSet and returns its condition Ready.
func reconcileLogin(t *testing.T, store client.Client) metav1.Condition {
	t.Helper()
	name := client.ObjectKey{Namespace: "team", Name: "login"}
	r := New(store, store, time.Now, Config{Image: "login:1"})
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Fatal(err)
	}
	l := &v1beta1.LoginSet{}
	if err := store.Get(t.Context(), name, l); err != nil {
		t.Fatal(err)
	}
	return *meta.FindStatusCondition(l.Status.Conditions, v1beta1.ConditionReady)
}

func newController() *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "slurm-auth"}}
	return c
}

func newSecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	store, writes := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"))
	if c := reconcileLogin(t, store); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	deployment := &appsv1.Deployment{}
	if err := store.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "login"}, deployment); err != nil {
		t.Fatal(err)
	}
	*writes = 0
	if reconcileLogin(t, store); *writes > 0 {
		t.Errorf("%d writes, although nothing has changed", *writes)
	}
	deployment.Status.AvailableReplicas, deployment.Status.Replicas = 1, 1
	if err := store.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	if c := reconcileLogin(t, store); c.Status != metav1.ConditionTrue {
		t.Errorf("with an available pod the condition is %+v", c)
	}
}

func TestHostKeysAreNeverChanged(t *testing.T) {
	mine := newSecret("login-ssh-host-keys")
	mine.Data = map[string][]byte{"ssh_host_ed25519_key": []byte("mine")}
	store, _ := newStore(t, newController(), newSecret("slurm-auth"), newSecret("sssd"), mine)
	reconcileLogin(t, store)
	got := &corev1.Secret{}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(mine), got); err != nil {
		t.Fatal(err)
	}
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
			store, _ := newStore(t, tc.objects...)
			if c := reconcileLogin(t, store); c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}
