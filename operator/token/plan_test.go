package token

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

const signingKey = "0123456789abcdef0123456789abcdef"

func parseKey(t *testing.T, raw string) signing.Key {
	t.Helper()
	key, err := signing.ParseKey([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newToken returns Token team/t of user alice with a lifetime of 100 seconds, with changes.
func newToken(change ...func(*v1beta1.TokenSpec)) *v1beta1.Token {
	t := &v1beta1.Token{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "t", UID: "uid-of-t", Generation: 2},
		Spec: v1beta1.TokenSpec{
			Username: "alice", Lifetime: &metav1.Duration{Duration: 100 * time.Second},
			JWTKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "key"},
				Key: "jwt"},
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

// newWrittenSecret returns the Secret of a Token that was written the given time before noon.
func newWrittenSecret(t *testing.T, ago time.Duration, token *v1beta1.Token, key string) *corev1.Secret {
	t.Helper()
	out := planToken(noon.Add(-ago), "id", observation{token: token, key: parseKey(t, key)})
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
		{"no Secret", newToken(), nil, signingKey, createSecret, "Available", 80 * time.Second},
		{"a new Secret", newToken(), newWrittenSecret(t, 0, newToken(), signingKey), signingKey, keepSecret,
			"Available", 80 * time.Second},
		{"one second before it is due", newToken(), newWrittenSecret(t, 79*time.Second, newToken(), signingKey),
			signingKey, keepSecret, "Available", time.Second},
		{"the token is due", newToken(), newWrittenSecret(t, 80*time.Second, newToken(), signingKey), signingKey,
			updateSecret, "Available", 80 * time.Second},
		{"the token has expired", newToken(), newWrittenSecret(t, time.Hour, newToken(), signingKey), signingKey,
			updateSecret, "Available", 80 * time.Second},
		{"issued by a clock that is slightly ahead", newToken(),
			newWrittenSecret(t, -30*time.Second, newToken(), signingKey), signingKey, keepSecret, "Available",
			110 * time.Second},
		{"issued in the future", newToken(), newWrittenSecret(t, -time.Hour, newToken(), signingKey), signingKey,
			updateSecret, "Available", 80 * time.Second},
		{"another signing key", newToken(), newWrittenSecret(t, 0, newToken(), "another key, just as long as that"),
			signingKey, updateSecret, "Available", 80 * time.Second},
		{"another user", newToken(forUser("bob"), inSecret("s", "k")),
			newWrittenSecret(t, 0, newToken(inSecret("s", "k")), signingKey), signingKey, updateSecret, "Available",
			80 * time.Second},
		{"another lifetime", newToken(withLifetime(50 * time.Second)), newWrittenSecret(t, 0, newToken(), signingKey),
			signingKey, updateSecret, "Available", 40 * time.Second},
		{"another key in the Secret", newToken(inSecret("s", "k")),
			newWrittenSecret(t, 0, newToken(inSecret("s", "j")), signingKey), signingKey, updateSecret, "Available",
			80 * time.Second},
		{"it contains no token", newToken(), garbage, signingKey, updateSecret, "Available", 80 * time.Second},
		{"it contains another key", newToken(), crowded, signingKey, updateSecret, "Available", 70 * time.Second},
		{"the default lifetime is 15 minutes", newToken(func(s *v1beta1.TokenSpec) { s.Lifetime = nil }), nil,
			signingKey, createSecret, "Available", 12 * time.Minute},
		{"the lifetime is truncated to seconds", newToken(withLifetime(1500 * time.Millisecond)), nil, signingKey,
			createSecret, "Available", time.Second},

		{"once: there is none", newToken(issuedOnce), nil, signingKey, createSecret, "Available", 100 * time.Second},
		{"once: it is not renewed", newToken(issuedOnce),
			newWrittenSecret(t, 90*time.Second, newToken(issuedOnce), signingKey), signingKey, keepSecret, "Available",
			10 * time.Second},
		{"once: nor when it has ended", newToken(issuedOnce),
			newWrittenSecret(t, 100*time.Second, newToken(issuedOnce), signingKey), signingKey, keepSecret,
			ReasonExpired, 0},
		{"issued once: with another key the Secret is replaced", newToken(issuedOnce),
			newWrittenSecret(t, 0, newToken(issuedOnce), "another key, just as long as that"), signingKey,
			replaceSecret, "Available", 100 * time.Second},
		{"issued once: another key does not renew a token that has ended", newToken(issuedOnce),
			newWrittenSecret(t, 100*time.Second, newToken(issuedOnce), "another key, just as long as that"), signingKey,
			keepSecret, ReasonExpired, 0},
		{"issued once: with another lifetime too", newToken(issuedOnce, withLifetime(time.Hour)),
			newWrittenSecret(t, 0, newToken(issuedOnce), signingKey), signingKey, replaceSecret, "Available",
			time.Hour},
		{"refresh disabled: the Secret becomes immutable", newToken(issuedOnce),
			newWrittenSecret(t, 10*time.Second, newToken(), signingKey), signingKey, updateSecret, "Available",
			90 * time.Second},
		{"refresh enabled: the Secret is replaced", newToken(),
			newWrittenSecret(t, 10*time.Second, newToken(issuedOnce), signingKey), signingKey, replaceSecret,
			"Available", 70 * time.Second},

		{"a Secret of another owner", newToken(), foreign, signingKey, keepSecret, ReasonSecretNotOwned, 0},
		{"nobody's", newToken(), bare, signingKey, keepSecret, ReasonSecretNotOwned, 0},
		{"no signing key", newToken(), newWrittenSecret(t, 90*time.Second, newToken(), signingKey), "", keepSecret,
			v1beta1.ReasonReferenceNotFound, 0},
		{"an RSA key", newToken(), nil, "\n-----BEGIN RSA PRIVATE KEY-----\n", keepSecret, v1beta1.ReasonInvalidSpec,
			0},
		{"the user name is not valid in the name of a Secret", newToken(forUser("Alice_X")), nil, signingKey,
			keepSecret, v1beta1.ReasonInvalidSpec, 0},
		{"a name is set for a user whose name is not valid", newToken(forUser("Alice_X"), inSecret("alice", "")), nil,
			signingKey, createSecret, "Available", 80 * time.Second},
		{"an invalid key of a Secret", newToken(inSecret("s", "a/b")), nil, signingKey, keepSecret,
			v1beta1.ReasonInvalidSpec, 0},
		{"no user", newToken(forUser("")), nil, signingKey, keepSecret, v1beta1.ReasonInvalidSpec, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := observation{token: tc.token, secret: tc.secret}
			switch {
			case tc.key == "":
				s.missingKey = "Secret team/key has no key"
			case signing.IsPEM([]byte(tc.key)):
				s.invalidKey = "the key is in PEM"
			default:
				s.key = parseKey(t, tc.key)
			}
			got := planToken(noon, "id", s)
			ready := got.status.Conditions[0]
			if got.secretAction != tc.want || ready.Reason != tc.reason || got.requeueAfter != tc.again ||
				ready.ObservedGeneration != 2 {
				t.Errorf("action %d, requeue after %v, condition %+v", got.secretAction, got.requeueAfter, ready)
			}
			if available := ready.Status == metav1.ConditionTrue; available != (tc.reason == "Available") {
				t.Errorf("Ready is %s with reason %s", ready.Status, ready.Reason)
			}
			checkActions(t, s, got)
		})
	}
}

// checkActions checks the invariants of every plan.
func checkActions(t *testing.T, s observation, got actions) {
	t.Helper()
	if text := got.status.Conditions[0].Message; text == "" || strings.Contains(text, signingKey) ||
		strings.Contains(text, "eyJ") {
		t.Errorf("the message is %q", text)
	}
	if got.secretAction == keepSecret {
		return
	}
	if !metav1.IsControlledBy(got.secret, s.token) || got.secret.Name != names.TokenSecret(s.token) ||
		len(got.secret.Data) != 1 {
		t.Errorf("the Secret is %+v", got.secret.ObjectMeta)
	}
	if (got.secret.Immutable != nil) == isRefreshed(s.token) {
		t.Errorf("immutable is %v", got.secret.Immutable)
	}
	// Planning again with the written Secret keeps it.
	again := planToken(noon, "id", observation{token: s.token, secret: got.secret, key: s.key})
	if again.secretAction != keepSecret || !again.status.IssuedAt.Time.Equal(got.status.IssuedAt.Time) {
		t.Errorf("the Secret is written again: %+v", again)
	}
}

func TestATokenReportsIgnoredFields(t *testing.T) {
	for _, missing := range []string{"", "Secret team/key has no key"} {
		s := observation{token: newToken(inSecret("s", "k")), key: parseKey(t, signingKey), missingKey: missing}
		s.token.Spec.SecretRef.Optional = new(true)
		s.token.Status = planToken(noon, "id", s).status
		c := meta.FindStatusCondition(s.token.Status.Conditions, v1beta1.ConditionFieldsIgnored)
		if c == nil || c.Status != metav1.ConditionTrue ||
			c.Message != "spec.secretRef.optional has no effect: the operator creates the Secret" ||
			c.ObservedGeneration != 2 {
			t.Errorf("the condition is %+v", c)
		}
		s.token.Spec.SecretRef.Optional = new(false)
		if c := meta.FindStatusCondition(planToken(noon, "id", s).status.Conditions,
			v1beta1.ConditionFieldsIgnored); c != nil {
			t.Errorf("the condition is still %+v", c)
		}
	}
}

func TestTokenClaims(t *testing.T) {
	text, err := tokenGrant{"alice", time.Minute}.sign(noon.Add(300*time.Millisecond), "an id", parseKey(t, signingKey))
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
