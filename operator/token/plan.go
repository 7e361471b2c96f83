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
	// clockSkew is how far in the future a token may have been issued: by a clock that is
	// ahead of ours, or before ours was put back.
	clockSkew = time.Minute
)

// observation is all that a plan rests on.
type observation struct {
	token *v1beta1.Token
	// secret is what has the name of the Token's Secret, nil for nothing.
	secret *corev1.Secret
	// key is what tokens are signed with; missing is why there is none, in words.
	key        []byte
	missingKey string
	// forbidden is why the Secret or the key cannot be read or written, in words.
	forbidden string
}

// secretAction is what is done to the Secret.
type secretAction int

const (
	keepSecret secretAction = iota
	createSecret
	updateSecret
	// replaceSecret deletes it and makes it anew, which an immutable one needs.
	replaceSecret
)

// actions is what is to be done.
type actions struct {
	secretAction secretAction
	secret       *corev1.Secret
	status       v1beta1.TokenStatus
	// requeueAfter is when to look again without a change, 0 for never.
	requeueAfter time.Duration
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

// signingKeyRef is where the key is, nil for nowhere.
func signingKeyRef(t *v1beta1.Token) *corev1.SecretKeySelector {
	return cmp.Or(t.Spec.JWTKeyRef, t.Spec.JWTHS256KeyRef)
}

func grantOf(t *v1beta1.Token) tokenGrant {
	g := tokenGrant{user: t.Spec.Username, lifetime: defaultLifetime}
	if t.Spec.Lifetime != nil {
		g.lifetime = max(time.Second, t.Spec.Lifetime.Truncate(time.Second))
	}
	return g
}

func isRefreshed(t *v1beta1.Token) bool { return t.Spec.Refresh == nil || *t.Spec.Refresh }

// specProblem is why the spec cannot be followed, empty if it can.
func specProblem(t *v1beta1.Token) string {
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

// planToken decides what is to be done. id is the id of the token should one be issued.
func planToken(now time.Time, id string, s observation) actions {
	t := s.token
	if why := specProblem(t); why != "" {
		return s.blockedActions(now, v1beta1.ReasonInvalidSpec, why)
	}
	if s.secret != nil && !metav1.IsControlledBy(s.secret, t) {
		return s.blockedActions(now, ReasonSecretNotOwned, fmt.Sprintf("the Secret %s is not this Token's: it is left as it is", s.secret.Name))
	}
	if s.forbidden != "" {
		return s.blockedActions(now, v1beta1.ReasonForbidden, s.forbidden)
	}
	if s.missingKey != "" {
		return s.blockedActions(now, v1beta1.ReasonReferenceNotFound, s.missingKey)
	}
	if err := checkSigningKey(s.key); err != nil {
		return s.blockedActions(now, v1beta1.ReasonInvalidSpec, err.Error())
	}
	g := grantOf(t)
	if s.secret != nil {
		if at, ok := g.issuedAt(s.secret.Data[secretKey(t)], s.key); ok && !at.After(now.Add(clockSkew)) && (!isRefreshed(t) || now.Before(at.Add(renewAfter(g)))) {
			return s.keepToken(now, g, at)
		}
	}
	text, err := g.sign(now, id, s.key)
	if err != nil {
		return s.blockedActions(now, v1beta1.ReasonInvalidSpec, err.Error())
	}
	out := s.settledActions(now, g, now.Truncate(time.Second))
	out.secret = s.renderSecret(text)
	out.secretAction = s.writeAction()
	return out
}

// renewAfter is how long after it was issued a token is renewed.
func renewAfter(g tokenGrant) time.Duration { return g.lifetime * 4 / 5 }

// keepToken leaves the token as it is; its Secret may still have to become immutable or not.
func (s observation) keepToken(now time.Time, g tokenGrant, at time.Time) actions {
	out := s.settledActions(now, g, at)
	immutable := s.secret.Immutable != nil && *s.secret.Immutable
	if immutable == !isRefreshed(s.token) && len(s.secret.Data) == 1 {
		return out
	}
	out.secret = s.renderSecret(string(s.secret.Data[secretKey(s.token)]))
	out.secretAction = s.writeAction()
	return out
}

// writeAction is how the Secret is written.
func (s observation) writeAction() secretAction {
	switch {
	case s.secret == nil:
		return createSecret
	case s.secret.Immutable != nil && *s.secret.Immutable:
		return replaceSecret
	}
	return updateSecret
}

// renderSecret is the Secret with a token. What others wrote into its metadata stays.
func (s observation) renderSecret(text string) *corev1.Secret {
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
	if !isRefreshed(s.token) {
		out.Immutable = new(true)
	}
	return out
}

// settledActions is what there is once a token issued at that time is in the Secret.
func (s observation) settledActions(now time.Time, g tokenGrant, at time.Time) actions {
	out := actions{status: *s.token.Status.DeepCopy()}
	out.status.IssuedAt = &metav1.Time{Time: at}
	end := at.Add(g.lifetime)
	switch {
	case isRefreshed(s.token):
		out.requeueAfter = max(time.Second, at.Add(renewAfter(g)).Sub(now))
		s.setConditions(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable, "the token is renewed before it ends")
	case now.Before(end):
		out.requeueAfter = max(time.Second, end.Sub(now))
		s.setConditions(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable, "the token is good until "+end.UTC().Format(time.RFC3339))
	default:
		s.setConditions(&out, now, metav1.ConditionFalse, ReasonExpired, "the token has ended and is not to be renewed")
	}
	return out
}

// blockedActions does nothing and tells why.
func (s observation) blockedActions(now time.Time, reason, message string) actions {
	out := actions{status: *s.token.Status.DeepCopy()}
	s.setConditions(&out, now, metav1.ConditionFalse, reason, message)
	return out
}

// setConditions sets the conditions: Ready, and which fields are ignored.
func (s observation) setConditions(out *actions, now time.Time, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&out.status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.token.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	v1beta1.SetFieldsIgnored(&out.status.Conditions, s.token.Spec.IgnoredFields(), s.token.Generation, now)
}
