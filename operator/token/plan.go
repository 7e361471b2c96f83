package token

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Reasons of the condition Ready of Tokens, beside those that all kinds share.
const (
	// ReasonSecretNotOwned (False): the Secret is there and the Token does not own it.
	ReasonSecretNotOwned = "SecretNotOwned"
	// ReasonExpired (False): the token has ended, and refresh is false.
	ReasonExpired = "Expired"
)

const (
	// defaultLifetime and defaultKey are what a Token does not say.
	defaultLifetime = 15 * time.Minute
	defaultKey      = "SLURM_JWT"
	// skew is how far in the future a token may have been issued: by a clock that is
	// ahead of ours, or before ours was put back.
	skew = time.Minute
)

// seen is all that a plan rests on.
type seen struct {
	token *v1beta1.Token
	// secret is what has the name of the Token's Secret, nil for nothing.
	secret *corev1.Secret
	// key is what tokens are signed with; missing is why there is none, in words.
	key     []byte
	missing string
	// forbidden is why the Secret or the key cannot be read or written, in words.
	forbidden string
}

// verb is what is done to the Secret.
type verb int

const (
	nothing verb = iota
	create
	update
	// replace deletes it and makes it anew, which an immutable one needs.
	replace
)

// todo is what is to be done.
type todo struct {
	verb   verb
	secret *corev1.Secret
	status v1beta1.TokenStatus
	// again is when to look again without a change, 0 for never.
	again time.Duration
}

// secretName is the name of the Token's Secret.
func secretName(t *v1beta1.Token) string {
	if r := t.Spec.SecretRef; r != nil && r.Name != "" {
		return r.Name
	}
	return t.Name + "-jwt-" + t.Spec.Username
}

func secretKey(t *v1beta1.Token) string {
	if r := t.Spec.SecretRef; r != nil && r.Key != "" {
		return r.Key
	}
	return defaultKey
}

// keyRef is where the key is, nil for nowhere.
func keyRef(t *v1beta1.Token) *corev1.SecretKeySelector {
	return cmp.Or(t.Spec.JWTKeyRef, t.Spec.JWTHS256KeyRef)
}

func grantOf(t *v1beta1.Token) grant {
	g := grant{user: t.Spec.Username, lifetime: defaultLifetime}
	if t.Spec.Lifetime != nil {
		g.lifetime = max(time.Second, t.Spec.Lifetime.Truncate(time.Second))
	}
	return g
}

func refreshed(t *v1beta1.Token) bool { return t.Spec.Refresh == nil || *t.Spec.Refresh }

// invalid is why the spec cannot be followed, empty if it can.
func invalid(t *v1beta1.Token) string {
	name := secretName(t)
	switch {
	case t.Spec.Username == "":
		return "username is empty"
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Sprintf("a Secret cannot be called %q: name one in secretRef", name)
	case len(validation.IsConfigMapKey(secretKey(t))) > 0:
		return fmt.Sprintf("a Secret cannot have the key %q", secretKey(t))
	}
	return ""
}

// plan decides what is to be done. id is the id of the token should one be issued.
func plan(now time.Time, id string, s seen) todo {
	t := s.token
	if why := invalid(t); why != "" {
		return s.stay(now, v1beta1.ReasonInvalidSpec, why)
	}
	if s.secret != nil && !metav1.IsControlledBy(s.secret, t) {
		return s.stay(now, ReasonSecretNotOwned, fmt.Sprintf("the Secret %s is not this Token's: it is left as it is", s.secret.Name))
	}
	if s.forbidden != "" {
		return s.stay(now, v1beta1.ReasonForbidden, s.forbidden)
	}
	if s.missing != "" {
		return s.stay(now, v1beta1.ReasonReferenceNotFound, s.missing)
	}
	if err := usable(s.key); err != nil {
		return s.stay(now, v1beta1.ReasonInvalidSpec, err.Error())
	}
	g := grantOf(t)
	if s.secret != nil {
		if at, ok := g.issued(s.secret.Data[secretKey(t)], s.key); ok && !at.After(now.Add(skew)) && (!refreshed(t) || now.Before(at.Add(due(g)))) {
			return s.keep(now, g, at)
		}
	}
	text, err := g.sign(now, id, s.key)
	if err != nil {
		return s.stay(now, v1beta1.ReasonInvalidSpec, err.Error())
	}
	out := s.settled(now, g, now.Truncate(time.Second))
	out.secret = s.write(text)
	out.verb = s.verb()
	return out
}

// due is how long after it was issued a token is renewed.
func due(g grant) time.Duration { return g.lifetime * 4 / 5 }

// keep leaves the token as it is; its Secret may still have to become immutable or not.
func (s seen) keep(now time.Time, g grant, at time.Time) todo {
	out := s.settled(now, g, at)
	immutable := s.secret.Immutable != nil && *s.secret.Immutable
	if immutable == !refreshed(s.token) && len(s.secret.Data) == 1 {
		return out
	}
	out.secret = s.write(string(s.secret.Data[secretKey(s.token)]))
	out.verb = s.verb()
	return out
}

// verb is how the Secret is written.
func (s seen) verb() verb {
	switch {
	case s.secret == nil:
		return create
	case s.secret.Immutable != nil && *s.secret.Immutable:
		return replace
	}
	return update
}

// write is the Secret with a token. What others wrote into its metadata stays.
func (s seen) write(text string) *corev1.Secret {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.token.Namespace, Name: secretName(s.token),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.token, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindToken))},
		},
		Type: corev1.SecretTypeOpaque,
	}
	if s.secret != nil {
		out = s.secret.DeepCopy()
	}
	out.Data = map[string][]byte{secretKey(s.token): []byte(text)}
	out.Immutable = nil
	if !refreshed(s.token) {
		out.Immutable = new(true)
	}
	return out
}

// settled is what there is once a token issued at that time is in the Secret.
func (s seen) settled(now time.Time, g grant, at time.Time) todo {
	out := todo{status: *s.token.Status.DeepCopy()}
	out.status.IssuedAt = &metav1.Time{Time: at}
	end := at.Add(g.lifetime)
	switch {
	case refreshed(s.token):
		out.again = max(time.Second, at.Add(due(g)).Sub(now))
		s.ready(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable, "the token is renewed before it ends")
	case now.Before(end):
		out.again = max(time.Second, end.Sub(now))
		s.ready(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable, "the token is good until "+end.UTC().Format(time.RFC3339))
	default:
		s.ready(&out, now, metav1.ConditionFalse, ReasonExpired, "the token has ended and is not to be renewed")
	}
	return out
}

// stay does nothing and tells why.
func (s seen) stay(now time.Time, reason, message string) todo {
	out := todo{status: *s.token.Status.DeepCopy()}
	s.ready(&out, now, metav1.ConditionFalse, reason, message)
	return out
}

// ready sets the conditions: Ready, and which fields are ignored.
func (s seen) ready(out *todo, now time.Time, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&out.status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.token.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	v1beta1.SetFieldsIgnored(&out.status.Conditions, s.token.Spec.IgnoredFields(), s.token.Generation, now)
}
