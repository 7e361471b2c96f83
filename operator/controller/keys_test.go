package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newEnvWithoutKeys is newEnv without the Secrets, with a Controller that asks for keys.
func newEnvWithoutKeys(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	e.requestKeys()
	return e
}

// requestKeys deletes the Secrets with keys and asks for others.
func (e *env) requestKeys() {
	e.t.Helper()
	e.deleteSecret("auth")
	e.deleteSecret("jwt")
	c := &v1beta1.Controller{}
	e.get("slurm", c)
	c.Annotations = map[string]string{v1beta1.AnnotationGenerateKeys: "slurmKeyRef,jwtKeyRef"}
	if err := e.store.Update(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) deleteSecret(name string) {
	e.t.Helper()
	secret := &corev1.Secret{}
	e.get(name, secret)
	if err := e.store.Delete(e.t.Context(), secret); err != nil {
		e.t.Fatal(err)
	}
}

// keySizes returns the sizes of the keys of all Secrets, by Secret and key.
func (e *env) keySizes() map[string]int {
	e.t.Helper()
	list := &corev1.SecretList{}
	if err := e.store.List(e.t.Context(), list); err != nil {
		e.t.Fatal(err)
	}
	out := map[string]int{}
	for _, secret := range list.Items {
		for key, value := range secret.Data {
			out[secret.Name+"/"+key] = len(value)
		}
	}
	return out
}

func TestMissingKeysAreGeneratedOnRequest(t *testing.T) {
	e := newEnvWithoutKeys(t)
	if c := e.reconcile(); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("the condition is %+v", c)
	}
	if diff := cmp.Diff(map[string]int{"auth/slurm.key": 64, "jwt/jwt.key": 64}, e.keySizes()); diff != "" {
		t.Errorf("the keys (-want +got):\n%s", diff)
	}
	auth, jwt := &corev1.Secret{}, &corev1.Secret{}
	e.get("auth", auth)
	e.get("jwt", jwt)
	if slices.Equal(auth.Data["slurm.key"], jwt.Data["jwt.key"]) {
		t.Error("both keys are the same")
	}
	if len(auth.OwnerReferences) > 0 || auth.Immutable == nil || !*auth.Immutable {
		t.Errorf("the Secret would not outlive the Controller as it is: %+v", auth.ObjectMeta)
	}
	e.get("slurm-controller", &appsv1.StatefulSet{})
	if event := <-e.recorder.Events; event != "Normal KeysGenerated generated slurm.key of Secret auth" {
		t.Errorf("the event is %q", event)
	}
	e.reconcile()
	again := &corev1.Secret{}
	if e.get("auth", again); again.ResourceVersion != auth.ResourceVersion {
		t.Error("the Secret is written again")
	}
}

func TestKeysThatExistStay(t *testing.T) {
	e := newEnvWithoutKeys(t)
	theirs := newSecret("jwt", "jwt.key")
	theirs.Namespace = "team"
	if err := e.store.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	e.reconcile()
	if diff := cmp.Diff(map[string]int{"auth/slurm.key": 64, "jwt/jwt.key": len("secret")}, e.keySizes()); diff != "" {
		t.Errorf("the keys (-want +got):\n%s", diff)
	}
}

func TestASecretWithoutTheKeyIsNotChanged(t *testing.T) {
	e := newEnvWithoutKeys(t)
	theirs := newSecret("jwt", "other")
	theirs.Namespace = "team"
	if err := e.store.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	c := e.reconcile()
	if c.Reason != v1beta1.ReasonReferenceNotFound || !strings.Contains(c.Message, "Secret jwt has no key jwt.key") {
		t.Errorf("the condition is %+v", c)
	}
	if e.keySizes()["jwt/other"] != len("secret") || len(e.keySizes()) != 2 {
		t.Errorf("the keys are %v", e.keySizes())
	}
}

func TestBothKeysMayBeInOneSecret(t *testing.T) {
	e := newEnvWithoutKeys(t)
	e.change(func(s *v1beta1.ControllerSpec) { s.SlurmKeyRef, s.JWTKeyRef = keyOf("keys", "a"), keyOf("keys", "b") })
	e.reconcile()
	if diff := cmp.Diff(map[string]int{"keys/a": 64, "keys/b": 64}, e.keySizes()); diff != "" {
		t.Errorf("the keys (-want +got):\n%s", diff)
	}
}

// TestLostKeysAreNotReplaced: daemons that run have the old key.
func TestLostKeysAreNotReplaced(t *testing.T) {
	e := newEnvWithoutKeys(t)
	e.reconcile()
	e.deleteSecret("auth")
	c := e.reconcile()
	if c.Reason != v1beta1.ReasonReferenceNotFound || !strings.Contains(c.Message, "there is no Secret auth any more") {
		t.Errorf("the condition is %+v", c)
	}
	if _, has := e.keySizes()["auth/slurm.key"]; has {
		t.Error("there is a new key")
	}
}

func TestNobodyElseGetsKeys(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.Controller)
	}{
		{"without the annotation", func(c *v1beta1.Controller) { c.Annotations = nil }},
		{"with another value", func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationGenerateKeys] = "true" }},
		{"slurmctld runs elsewhere", func(c *v1beta1.Controller) {
			c.Spec.External, c.Spec.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "ctl", Port: 6817}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnvWithoutKeys(t)
			c := &v1beta1.Controller{}
			e.get("slurm", c)
			tc.change(c)
			if err := e.store.Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			e.reconcile()
			if keys := e.keySizes(); len(keys) > 0 {
				t.Errorf("the keys are %v", keys)
			}
		})
	}
}

// secretRefuser is a client that creates no Secrets.
type secretRefuser struct {
	client.Client
	err error
}

func (c secretRefuser) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	if _, isSecret := o.(*corev1.Secret); isSecret {
		return c.err
	}
	return c.Client.Create(ctx, o, options...)
}

func TestKeysWithoutTheRightToCreateThem(t *testing.T) {
	e := newEnvWithoutKeys(t)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "auth", errors.New("no"))
	e.reconciler.Client = secretRefuser{e.reconciler.Client, forbidden}
	c := e.reconcile()
	if c.Reason != v1beta1.ReasonForbidden || !strings.Contains(c.Message, "rbac.secretNamespaces") {
		t.Errorf("the condition is %+v", c)
	}
}
