package token

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

const signingKey = "0123456789abcdef0123456789abcdef"

// newToken is team/t of alice, good for 100 seconds, changed.
func newToken(change ...func(*v1beta1.TokenSpec)) *v1beta1.Token {
	t := &v1beta1.Token{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "t", UID: "uid-of-t", Generation: 2},
		Spec: v1beta1.TokenSpec{
			Username: "alice", Lifetime: &metav1.Duration{Duration: 100 * time.Second},
			JWTKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Key: "jwt"},
		},
	}
	for _, f := range change {
		f(&t.Spec)
	}
	return t
}

func issuedOnce(s *v1beta1.TokenSpec) { s.Refresh = new(false) }

func withLifetime(d time.Duration) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) { s.Lifetime = &metav1.Duration{Duration: d} }
}

func forUser(user string) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) { s.Username = user }
}

func inSecret(name, key string) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) {
		s.SecretRef = &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
	}
}

// newWrittenSecret is the Secret that is made of a Token so long before noon.
func newWrittenSecret(t *testing.T, ago time.Duration, token *v1beta1.Token, key string) *corev1.Secret {
	t.Helper()
	out := planToken(noon.Add(-ago), "id", observation{token: token, key: []byte(key)})
	if out.secretAction != createSecret {
		t.Fatalf("nothing was written: %+v", out.status)
	}
	out.secret.UID, out.secret.ResourceVersion = "uid-of-secret", "7"
	return out.secret
}

func TestSecretActions(t *testing.T) {
	foreign := newWrittenSecret(t, 0, newToken(), signingKey)
	foreign.OwnerReferences[0].UID = "another"
	bare := newWrittenSecret(t, 0, newToken(), signingKey)
	bare.OwnerReferences = nil
	garbage := newWrittenSecret(t, 0, newToken(), signingKey)
	garbage.Data["SLURM_JWT"] = []byte("garbage")
	crowded := newWrittenSecret(t, 10*time.Second, newToken(), signingKey)
	crowded.Data["former"] = []byte("x")
	for _, tc := range []struct {
		name   string
		token  *v1beta1.Token
		secret *corev1.Secret
		key    string
		want   secretAction
		reason string
		again  time.Duration
	}{
		{"there is none", newToken(), nil, signingKey, createSecret, "Available", 80 * time.Second},
		{"it is new", newToken(), newWrittenSecret(t, 0, newToken(), signingKey), signingKey, keepSecret, "Available", 80 * time.Second},
		{"one second before it is due", newToken(), newWrittenSecret(t, 79*time.Second, newToken(), signingKey), signingKey, keepSecret, "Available", time.Second},
		{"it is due", newToken(), newWrittenSecret(t, 80*time.Second, newToken(), signingKey), signingKey, updateSecret, "Available", 80 * time.Second},
		{"it has ended", newToken(), newWrittenSecret(t, time.Hour, newToken(), signingKey), signingKey, updateSecret, "Available", 80 * time.Second},
		{"it is of a clock a little ahead", newToken(), newWrittenSecret(t, -30*time.Second, newToken(), signingKey), signingKey, keepSecret, "Available", 110 * time.Second},
		{"it is of the future", newToken(), newWrittenSecret(t, -time.Hour, newToken(), signingKey), signingKey, updateSecret, "Available", 80 * time.Second},
		{"the key is another", newToken(), newWrittenSecret(t, 0, newToken(), "another key, just as long as that"), signingKey, updateSecret, "Available", 80 * time.Second},
		{"the user is another", newToken(forUser("bob"), inSecret("s", "k")), newWrittenSecret(t, 0, newToken(inSecret("s", "k")), signingKey), signingKey, updateSecret, "Available", 80 * time.Second},
		{"the lifetime is another", newToken(withLifetime(50 * time.Second)), newWrittenSecret(t, 0, newToken(), signingKey), signingKey, updateSecret, "Available", 40 * time.Second},
		{"the key in the Secret is another", newToken(inSecret("s", "k")), newWrittenSecret(t, 0, newToken(inSecret("s", "j")), signingKey), signingKey, updateSecret, "Available", 80 * time.Second},
		{"it holds no token", newToken(), garbage, signingKey, updateSecret, "Available", 80 * time.Second},
		{"it holds more than that", newToken(), crowded, signingKey, updateSecret, "Available", 70 * time.Second},
		{"without a lifetime it is a quarter of an hour", newToken(func(s *v1beta1.TokenSpec) { s.Lifetime = nil }), nil, signingKey, createSecret, "Available", 12 * time.Minute},
		{"a lifetime has whole seconds", newToken(withLifetime(1500 * time.Millisecond)), nil, signingKey, createSecret, "Available", time.Second},

		{"once: there is none", newToken(issuedOnce), nil, signingKey, createSecret, "Available", 100 * time.Second},
		{"once: it is not renewed", newToken(issuedOnce), newWrittenSecret(t, 90*time.Second, newToken(issuedOnce), signingKey), signingKey, keepSecret, "Available", 10 * time.Second},
		{"once: nor when it has ended", newToken(issuedOnce), newWrittenSecret(t, 100*time.Second, newToken(issuedOnce), signingKey), signingKey, keepSecret, ReasonExpired, 0},
		{"once: with another key it is made anew", newToken(issuedOnce), newWrittenSecret(t, 0, newToken(issuedOnce), "another key, just as long as that"), signingKey, replaceSecret, "Available", 100 * time.Second},
		{"once: with another lifetime too", newToken(issuedOnce, withLifetime(time.Hour)), newWrittenSecret(t, 0, newToken(issuedOnce), signingKey), signingKey, replaceSecret, "Available", time.Hour},
		{"once from now on: it becomes immutable", newToken(issuedOnce), newWrittenSecret(t, 10*time.Second, newToken(), signingKey), signingKey, updateSecret, "Available", 90 * time.Second},
		{"not once any more: it is made anew", newToken(), newWrittenSecret(t, 10*time.Second, newToken(issuedOnce), signingKey), signingKey, replaceSecret, "Available", 70 * time.Second},

		{"somebody else's", newToken(), foreign, signingKey, keepSecret, ReasonSecretNotOwned, 0},
		{"nobody's", newToken(), bare, signingKey, keepSecret, ReasonSecretNotOwned, 0},
		{"there is no key", newToken(), newWrittenSecret(t, 90*time.Second, newToken(), signingKey), "", keepSecret, v1beta1.ReasonReferenceNotFound, 0},
		{"the key is for RSA", newToken(), nil, "\n-----BEGIN RSA PRIVATE KEY-----\n", keepSecret, v1beta1.ReasonInvalidSpec, 0},
		{"the user makes no name of a Secret", newToken(forUser("Alice_X")), nil, signingKey, keepSecret, v1beta1.ReasonInvalidSpec, 0},
		{"unless it is told", newToken(forUser("Alice_X"), inSecret("alice", "")), nil, signingKey, createSecret, "Available", 80 * time.Second},
		{"a key that no Secret can have", newToken(inSecret("s", "a/b")), nil, signingKey, keepSecret, v1beta1.ReasonInvalidSpec, 0},
		{"no user", newToken(forUser("")), nil, signingKey, keepSecret, v1beta1.ReasonInvalidSpec, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := observation{token: tc.token, secret: tc.secret, key: []byte(tc.key)}
			if tc.key == "" {
				s.missingKey = "Secret team/key has no key"
			}
			got := planToken(noon, "id", s)
			ready := got.status.Conditions[0]
			if got.secretAction != tc.want || ready.Reason != tc.reason || got.requeueAfter != tc.again || ready.ObservedGeneration != 2 {
				t.Errorf("verb %d, again %v, %+v", got.secretAction, got.requeueAfter, ready)
			}
			if available := ready.Status == metav1.ConditionTrue; available != (tc.reason == "Available") {
				t.Errorf("ready is %s with reason %s", ready.Status, ready.Reason)
			}
			checkActions(t, s, got)
		})
	}
}

// checkActions holds what is true of every plan.
func checkActions(t *testing.T, s observation, got actions) {
	t.Helper()
	if text := got.status.Conditions[0].Message; text == "" || strings.Contains(text, signingKey) || strings.Contains(text, "eyJ") {
		t.Errorf("the message is %q", text)
	}
	if got.secretAction == keepSecret {
		return
	}
	if !metav1.IsControlledBy(got.secret, s.token) || got.secret.Name != secretName(s.token) || len(got.secret.Data) != 1 {
		t.Errorf("the Secret is %+v", got.secret.ObjectMeta)
	}
	if (got.secret.Immutable != nil) == isRefreshed(s.token) {
		t.Errorf("immutable is %v", got.secret.Immutable)
	}
	// What is written is what is wanted: looked at again, it stays.
	again := planToken(noon, "id", observation{token: s.token, secret: got.secret, key: s.key})
	if again.secretAction != keepSecret || !again.status.IssuedAt.Time.Equal(got.status.IssuedAt.Time) {
		t.Errorf("it is written again: %+v", again)
	}
}

func TestATokenReportsIgnoredFields(t *testing.T) {
	for _, missing := range []string{"", "Secret team/key has no key"} {
		s := observation{token: newToken(inSecret("s", "k")), key: []byte(signingKey), missingKey: missing}
		s.token.Spec.SecretRef.Optional = new(true)
		s.token.Status = planToken(noon, "id", s).status
		c := meta.FindStatusCondition(s.token.Status.Conditions, v1beta1.ConditionFieldsIgnored)
		if c == nil || c.Status != metav1.ConditionTrue || c.Message != "spec.secretRef.optional has no effect: the operator creates the Secret" || c.ObservedGeneration != 2 {
			t.Errorf("the condition is %+v", c)
		}
		s.token.Spec.SecretRef.Optional = new(false)
		if c := meta.FindStatusCondition(planToken(noon, "id", s).status.Conditions, v1beta1.ConditionFieldsIgnored); c != nil {
			t.Errorf("there still is %+v", c)
		}
	}
}

func TestTokenClaims(t *testing.T) {
	text, err := tokenGrant{"alice", time.Minute}.sign(noon.Add(300*time.Millisecond), "an id", []byte(signingKey))
	if err != nil {
		t.Fatal(err)
	}
	claims := parseClaims(t, text)
	want := map[string]any{"sun": "alice", "iss": "slurm-operator", "jti": "an id",
		"iat": float64(noon.Unix()), "nbf": float64(noon.Unix()), "exp": float64(noon.Unix() + 60)}
	for name, value := range want {
		if claims[name] != value {
			t.Errorf("%s is %v", name, claims[name])
		}
	}
	if len(claims) != len(want) {
		t.Errorf("the claims are %v", claims)
	}
}
