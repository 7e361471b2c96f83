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

const theKey = "0123456789abcdef0123456789abcdef"

// aToken is team/t of alice, good for 100 seconds, changed.
func aToken(change ...func(*v1beta1.TokenSpec)) *v1beta1.Token {
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

func once(s *v1beta1.TokenSpec) { s.Refresh = new(false) }

func lasting(d time.Duration) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) { s.Lifetime = &metav1.Duration{Duration: d} }
}

func of(user string) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) { s.Username = user }
}

func into(name, key string) func(*v1beta1.TokenSpec) {
	return func(s *v1beta1.TokenSpec) {
		s.SecretRef = &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
	}
}

// written is the Secret that is made of a Token so long before noon.
func written(t *testing.T, ago time.Duration, token *v1beta1.Token, key string) *corev1.Secret {
	t.Helper()
	out := plan(noon.Add(-ago), "id", seen{token: token, key: []byte(key)})
	if out.verb != create {
		t.Fatalf("nothing was written: %+v", out.status)
	}
	out.secret.UID, out.secret.ResourceVersion = "uid-of-secret", "7"
	return out.secret
}

func TestWhatBecomesOfTheSecret(t *testing.T) {
	foreign := written(t, 0, aToken(), theKey)
	foreign.OwnerReferences[0].UID = "another"
	bare := written(t, 0, aToken(), theKey)
	bare.OwnerReferences = nil
	garbage := written(t, 0, aToken(), theKey)
	garbage.Data["SLURM_JWT"] = []byte("garbage")
	crowded := written(t, 10*time.Second, aToken(), theKey)
	crowded.Data["former"] = []byte("x")
	for _, tc := range []struct {
		name   string
		token  *v1beta1.Token
		secret *corev1.Secret
		key    string
		want   verb
		reason string
		again  time.Duration
	}{
		{"there is none", aToken(), nil, theKey, create, "Available", 80 * time.Second},
		{"it is new", aToken(), written(t, 0, aToken(), theKey), theKey, nothing, "Available", 80 * time.Second},
		{"one second before it is due", aToken(), written(t, 79*time.Second, aToken(), theKey), theKey, nothing, "Available", time.Second},
		{"it is due", aToken(), written(t, 80*time.Second, aToken(), theKey), theKey, update, "Available", 80 * time.Second},
		{"it has ended", aToken(), written(t, time.Hour, aToken(), theKey), theKey, update, "Available", 80 * time.Second},
		{"it is of a clock a little ahead", aToken(), written(t, -30*time.Second, aToken(), theKey), theKey, nothing, "Available", 110 * time.Second},
		{"it is of the future", aToken(), written(t, -time.Hour, aToken(), theKey), theKey, update, "Available", 80 * time.Second},
		{"the key is another", aToken(), written(t, 0, aToken(), "another key, just as long as that"), theKey, update, "Available", 80 * time.Second},
		{"the user is another", aToken(of("bob"), into("s", "k")), written(t, 0, aToken(into("s", "k")), theKey), theKey, update, "Available", 80 * time.Second},
		{"the lifetime is another", aToken(lasting(50 * time.Second)), written(t, 0, aToken(), theKey), theKey, update, "Available", 40 * time.Second},
		{"the key in the Secret is another", aToken(into("s", "k")), written(t, 0, aToken(into("s", "j")), theKey), theKey, update, "Available", 80 * time.Second},
		{"it holds no token", aToken(), garbage, theKey, update, "Available", 80 * time.Second},
		{"it holds more than that", aToken(), crowded, theKey, update, "Available", 70 * time.Second},
		{"without a lifetime it is a quarter of an hour", aToken(func(s *v1beta1.TokenSpec) { s.Lifetime = nil }), nil, theKey, create, "Available", 12 * time.Minute},
		{"a lifetime has whole seconds", aToken(lasting(1500 * time.Millisecond)), nil, theKey, create, "Available", time.Second},

		{"once: there is none", aToken(once), nil, theKey, create, "Available", 100 * time.Second},
		{"once: it is not renewed", aToken(once), written(t, 90*time.Second, aToken(once), theKey), theKey, nothing, "Available", 10 * time.Second},
		{"once: nor when it has ended", aToken(once), written(t, 100*time.Second, aToken(once), theKey), theKey, nothing, ReasonExpired, 0},
		{"once: with another key it is made anew", aToken(once), written(t, 0, aToken(once), "another key, just as long as that"), theKey, replace, "Available", 100 * time.Second},
		{"once: with another lifetime too", aToken(once, lasting(time.Hour)), written(t, 0, aToken(once), theKey), theKey, replace, "Available", time.Hour},
		{"once from now on: it becomes immutable", aToken(once), written(t, 10*time.Second, aToken(), theKey), theKey, update, "Available", 90 * time.Second},
		{"not once any more: it is made anew", aToken(), written(t, 10*time.Second, aToken(once), theKey), theKey, replace, "Available", 70 * time.Second},

		{"somebody else's", aToken(), foreign, theKey, nothing, ReasonSecretNotOwned, 0},
		{"nobody's", aToken(), bare, theKey, nothing, ReasonSecretNotOwned, 0},
		{"there is no key", aToken(), written(t, 90*time.Second, aToken(), theKey), "", nothing, v1beta1.ReasonReferenceNotFound, 0},
		{"the key is for RSA", aToken(), nil, "\n-----BEGIN RSA PRIVATE KEY-----\n", nothing, v1beta1.ReasonInvalidSpec, 0},
		{"the user makes no name of a Secret", aToken(of("Alice_X")), nil, theKey, nothing, v1beta1.ReasonInvalidSpec, 0},
		{"unless it is told", aToken(of("Alice_X"), into("alice", "")), nil, theKey, create, "Available", 80 * time.Second},
		{"a key that no Secret can have", aToken(into("s", "a/b")), nil, theKey, nothing, v1beta1.ReasonInvalidSpec, 0},
		{"no user", aToken(of("")), nil, theKey, nothing, v1beta1.ReasonInvalidSpec, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := seen{token: tc.token, secret: tc.secret, key: []byte(tc.key)}
			if tc.key == "" {
				s.missing = "Secret team/key has no key"
			}
			got := plan(noon, "id", s)
			ready := got.status.Conditions[0]
			if got.verb != tc.want || ready.Reason != tc.reason || got.again != tc.again || ready.ObservedGeneration != 2 {
				t.Errorf("verb %d, again %v, %+v", got.verb, got.again, ready)
			}
			if available := ready.Status == metav1.ConditionTrue; available != (tc.reason == "Available") {
				t.Errorf("ready is %s with reason %s", ready.Status, ready.Reason)
			}
			check(t, s, got)
		})
	}
}

// check holds what is true of every plan.
func check(t *testing.T, s seen, got todo) {
	t.Helper()
	if text := got.status.Conditions[0].Message; text == "" || strings.Contains(text, theKey) || strings.Contains(text, "eyJ") {
		t.Errorf("the message is %q", text)
	}
	if got.verb == nothing {
		return
	}
	if !metav1.IsControlledBy(got.secret, s.token) || got.secret.Name != secretName(s.token) || len(got.secret.Data) != 1 {
		t.Errorf("the Secret is %+v", got.secret.ObjectMeta)
	}
	if (got.secret.Immutable != nil) == refreshed(s.token) {
		t.Errorf("immutable is %v", got.secret.Immutable)
	}
	// What is written is what is wanted: looked at again, it stays.
	again := plan(noon, "id", seen{token: s.token, secret: got.secret, key: s.key})
	if again.verb != nothing || !again.status.IssuedAt.Time.Equal(got.status.IssuedAt.Time) {
		t.Errorf("it is written again: %+v", again)
	}
}

func TestATokenNamesFieldsThatNothingFollows(t *testing.T) {
	for _, missing := range []string{"", "Secret team/key has no key"} {
		s := seen{token: aToken(into("s", "k")), key: []byte(theKey), missing: missing}
		s.token.Spec.SecretRef.Optional = new(true)
		s.token.Status = plan(noon, "id", s).status
		c := meta.FindStatusCondition(s.token.Status.Conditions, v1beta1.ConditionFieldsIgnored)
		if c == nil || c.Status != metav1.ConditionTrue || c.Message != "spec.secretRef.optional has no effect: the Secret is made" || c.ObservedGeneration != 2 {
			t.Errorf("the condition is %+v", c)
		}
		s.token.Spec.SecretRef.Optional = new(false)
		if c := meta.FindStatusCondition(plan(noon, "id", s).status.Conditions, v1beta1.ConditionFieldsIgnored); c != nil {
			t.Errorf("there still is %+v", c)
		}
	}
}

func TestWhatATokenSays(t *testing.T) {
	text, err := grant{"alice", time.Minute}.sign(noon.Add(300*time.Millisecond), "an id", []byte(theKey))
	if err != nil {
		t.Fatal(err)
	}
	claims := claimsOf(t, text)
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
