package token

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func parseClaims(t *testing.T, text string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	_, err := jwt.NewParser(jwt.WithoutClaimsValidation()).ParseWithClaims(
		text, claims, func(*jwt.Token) (any, error) { return []byte(signingKey), nil })
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// env is a reconciler with its own clock.
type env struct {
	*Reconciler
	kube   client.Client
	events *events.FakeRecorder
	clock  time.Time
}

func newEnv(t *testing.T, objects ...client.Object) *env {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	keys := kubefake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key"},
		Data: map[string][]byte{"jwt": []byte(signingKey)}})
	r := &env{clock: noon, events: events.NewFakeRecorder(100)}
	r.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(
		&v1beta1.Token{}).Build()
	r.Reconciler = New(r.kube, r.kube, access.NewSecretReader(keys), r.events, func() time.Time { return r.clock })
	return r
}

// reconcile reconciles team/t.
func (r *env) reconcile(t *testing.T) ctrl.Result {
	t.Helper()
	out, err := r.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// secretValue returns the value of a key of the Secret.
func (r *env) secretValue(t *testing.T, name, key string) string {
	t.Helper()
	var s corev1.Secret
	if err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	return string(s.Data[key])
}

func (r *env) changeSpec(t *testing.T, change func(*v1beta1.TokenSpec)) {
	t.Helper()
	var token v1beta1.Token
	if err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t"}, &token); err != nil {
		t.Fatal(err)
	}
	change(&token.Spec)
	if err := r.kube.Update(t.Context(), &token); err != nil {
		t.Fatal(err)
	}
}

func TestTokenLifecycle(t *testing.T) {
	r := newEnv(t, newToken())
	if out := r.reconcile(t); out.RequeueAfter != time.Minute {
		t.Errorf("requeued after %v", out.RequeueAfter)
	}
	first := r.secretValue(t, "t-jwt-alice", "SLURM_JWT")
	r.clock = r.clock.Add(time.Minute)
	if out := r.reconcile(t); out.RequeueAfter != 20*time.Second {
		t.Errorf("requeued after %v, not when the token is due", out.RequeueAfter)
	}
	if r.secretValue(t, "t-jwt-alice", "SLURM_JWT") != first {
		t.Error("a second token was issued")
	}
	r.clock = r.clock.Add(20 * time.Second)
	r.reconcile(t)
	second := r.secretValue(t, "t-jwt-alice", "SLURM_JWT")
	if second == first || parseClaims(t, second)["jti"] == parseClaims(t, first)["jti"] {
		t.Error("the token was not renewed")
	}
	r.changeSpec(t, issuedOnce)
	r.reconcile(t)
	if r.secretValue(t, "t-jwt-alice", "SLURM_JWT") != second {
		t.Error("disabling refresh issued another token")
	}
	r.changeSpec(t, forUser("bob"))
	r.reconcile(t)
	if parseClaims(t, r.secretValue(t, "t-jwt-bob", "SLURM_JWT"))["sun"] != "bob" {
		t.Error("bob has no token")
	}
	var token v1beta1.Token
	if err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t"}, &token); err != nil {
		t.Fatal(err)
	}
	if token.Status.IssuedAt == nil || !token.Status.IssuedAt.Time.Equal(r.clock) ||
		token.Status.Conditions[0].Status != metav1.ConditionTrue {
		t.Errorf("the status is %+v", token.Status)
	}
	for range len(r.events.Events) {
		if e := <-r.events.Events; strings.Contains(e, "eyJ") {
			t.Errorf("an event contains the token: %s", e)
		}
	}
}

func TestSecretOfAnotherOwnerIsNotChanged(t *testing.T) {
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "t-jwt-alice"},
		Data: map[string][]byte{"SLURM_JWT": []byte("mine")}}
	r := newEnv(t, newToken(), foreign)
	r.reconcile(t)
	if got := r.secretValue(t, "t-jwt-alice", "SLURM_JWT"); got != "mine" {
		t.Errorf("the Secret contains %q", got)
	}
	if err := r.kube.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	r.reconcile(t)
	if parseClaims(t, r.secretValue(t, "t-jwt-alice", "SLURM_JWT"))["sun"] != "alice" {
		t.Error("after the foreign Secret was deleted, no token was issued")
	}
}

func TestAForbiddenSecretIsReported(t *testing.T) {
	r := newEnv(t, newToken())
	forbid := func(what string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, what, nil)
	}
	allowed := r.kube
	r.client = interceptor.NewClient(allowed.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return forbid("t-jwt-alice")
		},
	})
	r.reconcile(t)
	var token v1beta1.Token
	if err := allowed.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t"}, &token); err != nil {
		t.Fatal(err)
	}
	if c := token.Status.Conditions[0]; c.Reason != v1beta1.ReasonForbidden ||
		!strings.Contains(c.Message, "rbac.secretNamespaces") {
		t.Errorf("the condition is %+v", c)
	}
}

func TestSlurmAcceptsTheTokens(t *testing.T) {
	cluster := slurmtest.New(slurmtest.Config{Key: []byte(signingKey), Now: func() time.Time { return noon },
		Nodes: []slurmtest.NodeConf{{Names: "n1", CPUs: 1}}})
	server := httptest.NewServer(cluster.Handler())
	defer server.Close()
	r := newEnv(t, newToken(forUser("slurm")))
	ask := func() error {
		t.Setenv("TOKEN_OF_TEST", r.secretValue(t, "t-jwt-slurm", "SLURM_JWT"))
		c, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: slurmclient.TokenFromEnv("TOKEN_OF_TEST")})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Drain(t.Context(), "n1", "a test")
	}
	r.reconcile(t)
	if err := ask(); err != nil {
		t.Error(err)
	}
	r.clock = noon.Add(-time.Hour)
	r.changeSpec(t, withLifetime(time.Minute))
	r.reconcile(t)
	if err := ask(); slurmclient.CodeOf(err) != slurmclient.CodeUnauthorized {
		t.Errorf("Slurm accepts an expired token: %v", err)
	}
}

// TestATokenIsNoKey: a Token writes no Secret that an object reads a key from, even before the Secret exists.
func TestATokenIsNoKey(t *testing.T) {
	selector := func(name, key string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
	}
	in := metav1.ObjectMeta{Namespace: "team", Name: "slurm"}
	mine := selector("mine", "key")
	for _, tc := range []struct {
		name, secret string
		other        client.Object
		blocked      bool
	}{
		{"nobody's", "mine", nil, false},
		{"a key of a rotation of auth/jwt", names.JWTKeysSecret("key", "jwt"), nil, true},
		{"a key of a rotation of auth/slurm", names.KeySetSecret("key", "slurm"), nil, true},
		{"host keys", names.LoginHostKeys("login"), nil, true},
		{"slurm.key of a Controller", "mine", &v1beta1.Controller{ObjectMeta: in,
			Spec: v1beta1.ControllerSpec{SlurmKeyRef: mine}}, true},
		{"sssd.conf of a Controller", "mine", &v1beta1.Controller{ObjectMeta: in,
			Spec: v1beta1.ControllerSpec{SSSDConfRef: mine}}, true},
		{"the JWT key of a Controller in another namespace", "mine", &v1beta1.Controller{
			ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "slurm"}, Spec: v1beta1.ControllerSpec{JWTKeyRef: mine}}, false},
		{"the JWT key of an Accounting", "mine", &v1beta1.Accounting{ObjectMeta: in,
			Spec: v1beta1.AccountingSpec{JWTHS256KeyRef: mine}}, true},
		{"the password of a database", "mine", &v1beta1.Accounting{ObjectMeta: in, Spec: v1beta1.AccountingSpec{
			StorageConfig: &v1beta1.StorageConfig{PasswordKeyRef: *mine}}}, true},
		{"the key of another Token", "mine", &v1beta1.Token{ObjectMeta: in, Spec: v1beta1.TokenSpec{JWTKeyRef: mine}}, true},
		{"the certificate of a RestApi", "mine", &v1beta1.RestApi{ObjectMeta: in, Spec: v1beta1.RestApiSpec{
			TLS: &v1beta1.RestApiTLS{SecretName: "mine"}}}, true},
		{"sssd.conf of a LoginSet", "mine", &v1beta1.LoginSet{ObjectMeta: in, Spec: v1beta1.LoginSetSpec{SSSDConfRef: mine}}, true},
		{"sssd.conf of a NodeSet", "mine", &v1beta1.NodeSet{ObjectMeta: in, Spec: v1beta1.NodeSetSpec{
			SSH: &v1beta1.NodeSetSSH{SSSDConfRef: mine}}}, true},
		{"slurm.key of a Cluster", "mine", &v1beta1.Cluster{ObjectMeta: in, Spec: v1beta1.ClusterSpec{SlurmKeyRef: mine}}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			token := newToken()
			token.Spec.SecretRef = selector(tc.secret, access.SigningKeyName)
			objects := []client.Object{token}
			if tc.other != nil {
				objects = append(objects, tc.other)
			}
			r := newEnv(t, objects...)
			r.reconcile(t)
			err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: tc.secret}, &corev1.Secret{})
			if isMissing := apierrors.IsNotFound(err); isMissing != tc.blocked {
				t.Errorf("reading the Secret: %v", err)
			}
			if err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t"}, token); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(token.Status.Conditions, v1beta1.ConditionReady)
			if isReserved := ready.Reason == "SecretReserved"; isReserved != tc.blocked {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}

// TestATokenLimitsItsServers: a user who may write a Cluster chooses the server that gets the token.
func TestATokenLimitsItsServers(t *testing.T) {
	const servers = "https://slurm.example.com:6820"
	token := newToken()
	r := newEnv(t, token)
	r.reconcile(t)
	key := types.NamespacedName{Namespace: "team", Name: "t"}
	if err := r.kube.Get(t.Context(), key, token); err != nil {
		t.Fatal(err)
	}
	token.Annotations = map[string]string{v1beta1.AnnotationSlurmToken: servers}
	if err := r.kube.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	before := r.secretValue(t, "t-jwt-alice", "SLURM_JWT")
	r.reconcile(t)
	secret := &corev1.Secret{}
	if err := r.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t-jwt-alice"}, secret); err != nil {
		t.Fatal(err)
	}
	if got := secret.Annotations[v1beta1.AnnotationSlurmToken]; got != servers {
		t.Errorf("the Secret limits its servers to %q", got)
	}
	if string(secret.Data["SLURM_JWT"]) != before {
		t.Error("another token was issued")
	}
}
