package token

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// Reasons of the condition Ready of Tokens, in addition to the reasons of all kinds.
const (
	// ReasonSecretNotOwned (False): the Secret exists and the Token does not own it.
	ReasonSecretNotOwned = "SecretNotOwned"
	// ReasonSecretReserved (False): the Secret has keys of the operator or of another object.
	ReasonSecretReserved = "SecretReserved"
	// ReasonExpired (False): the token has expired, and refresh is false.
	ReasonExpired = "Expired"
)

const (
	// defaultLifetime is the lifetime of a Token that sets none.
	defaultLifetime = 15 * time.Minute
	// clockSkew is the time by which the issue time of a token may be in the future, since clocks differ.
	clockSkew = time.Minute
)

// observation is everything that a plan is based on.
type observation struct {
	token *v1beta1.Token
	// secret is the Secret with the name of the Token's Secret, or nil.
	secret *corev1.Secret
	// keyUser is the field of an object in the namespace that reads a key from the Secret, or empty.
	keyUser string
	// key signs the tokens. missingKey and invalidKey are the reasons for a missing or invalid key, in words.
	key                    signing.Key
	missingKey, invalidKey string
	// forbidden is the reason why the Secret or the key cannot be read or written, in words.
	forbidden string
}

// secretAction is the change to the Secret.
type secretAction int

const (
	keepSecret secretAction = iota
	createSecret
	updateSecret
	// replaceSecret deletes and creates the Secret, because an immutable one cannot be updated.
	replaceSecret
)

// actions are the plan's decisions.
type actions struct {
	secretAction secretAction
	secret       *corev1.Secret
	status       v1beta1.TokenStatus
	// requeueAfter is the time until the next reconciliation without a change, or 0.
	requeueAfter time.Duration
}

// signingKeyRef returns the reference to the key, or nil.
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

// specProblem returns why the spec is invalid, or "" if it is valid.
func specProblem(t *v1beta1.Token) string {
	name := names.TokenSecret(t)
	switch {
	case t.Spec.Username == "":
		return "username is empty"
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Sprintf("%q is not a valid name of a Secret: set secretRef.name", name)
	case len(validation.IsConfigMapKey(names.TokenSecretKey(t))) > 0:
		return fmt.Sprintf("%q is not a valid key of a Secret", names.TokenSecretKey(t))
	}
	return ""
}

// planToken decides the actions for a Token. id is the id of the token if one is issued.
func planToken(now time.Time, id string, s observation) actions {
	t := s.token
	if why := specProblem(t); why != "" {
		return s.blockedActions(now, v1beta1.ReasonInvalidSpec, why)
	}
	if s.secret != nil && !metav1.IsControlledBy(s.secret, t) {
		return s.blockedActions(now, ReasonSecretNotOwned,
			fmt.Sprintf("this Token does not own the Secret %s, so the operator does not change it", s.secret.Name))
	}
	if why := s.reservedFor(); why != "" {
		return s.blockedActions(now, ReasonSecretReserved, why)
	}
	if s.forbidden != "" {
		return s.blockedActions(now, v1beta1.ReasonForbidden, s.forbidden)
	}
	if s.missingKey != "" {
		return s.blockedActions(now, v1beta1.ReasonReferenceNotFound, s.missingKey)
	}
	if s.invalidKey != "" {
		return s.blockedActions(now, v1beta1.ReasonInvalidSpec, s.invalidKey)
	}
	g := grantOf(t)
	if at, keep := s.isKept(now, g); keep {
		return s.keepToken(now, g, at)
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

// reservedFor returns why no token may be in the Secret although the Token owns it or it is missing; empty if one may.
// If a token replaced a key, other programs would trust what it signs or encrypts.
func (s observation) reservedFor() string {
	name := names.TokenSecret(s.token)
	switch {
	case names.IsKeySecret(name):
		return fmt.Sprintf("Secret %s is reserved for keys that the operator makes: choose another spec.secretRef.name", name)
	case s.keyUser != "":
		return fmt.Sprintf("%s reads a key from Secret %s: choose another spec.secretRef.name", s.keyUser, name)
	}
	return ""
}

// isKept reports whether the Secret's token stays, and when it was issued. A token that is issued only once ends for
// good, even if the key changes afterwards.
func (s observation) isKept(now time.Time, g tokenGrant) (time.Time, bool) {
	if s.secret == nil {
		return time.Time{}, false
	}
	text := s.secret.Data[names.TokenSecretKey(s.token)]
	at, signed := g.issuedAt(text, s.key)
	if isRefreshed(s.token) {
		return at, signed && !at.After(now.Add(clockSkew)) && now.Before(at.Add(renewAfter(g)))
	}
	if at, granted := g.claimedAt(text); granted && !now.Before(at.Add(g.lifetime)) {
		return at, true
	}
	return at, signed && !at.After(now.Add(clockSkew))
}

// renewAfter returns the age at which a token is renewed.
func renewAfter(g tokenGrant) time.Duration { return g.lifetime * 4 / 5 }

// keepToken keeps the token. Its Secret may still have to become immutable or mutable.
func (s observation) keepToken(now time.Time, g tokenGrant, at time.Time) actions {
	out := s.settledActions(now, g, at)
	immutable := s.secret.Immutable != nil && *s.secret.Immutable
	if immutable == !isRefreshed(s.token) && len(s.secret.Data) == 1 && s.hasServers() {
		return out
	}
	out.secret = s.renderSecret(string(s.secret.Data[names.TokenSecretKey(s.token)]))
	out.secretAction = s.writeAction()
	return out
}

// hasServers reports whether the Secret lists the servers that its token may be sent to, if the Token lists them.
func (s observation) hasServers() bool {
	servers, limited := s.token.Annotations[v1beta1.AnnotationSlurmToken]
	return !limited || s.secret.Annotations[v1beta1.AnnotationSlurmToken] == servers
}

// writeAction returns how to write the Secret.
func (s observation) writeAction() secretAction {
	switch {
	case s.secret == nil:
		return createSecret
	case s.secret.Immutable != nil && *s.secret.Immutable:
		return replaceSecret
	}
	return updateSecret
}

// renderSecret returns the Secret with a token. It keeps the metadata that others wrote.
func (s observation) renderSecret(text string) *corev1.Secret {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.token.Namespace, Name: names.TokenSecret(s.token),
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s.token, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindToken)),
			},
		},
		Type: corev1.SecretTypeOpaque,
	}
	if s.secret != nil {
		out = s.secret.DeepCopy()
	}
	if servers, limited := s.token.Annotations[v1beta1.AnnotationSlurmToken]; limited {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, v1beta1.AnnotationSlurmToken, servers)
	}
	out.Data = map[string][]byte{names.TokenSecretKey(s.token): []byte(text)}
	out.Immutable = nil
	if !isRefreshed(s.token) {
		out.Immutable = new(true)
	}
	return out
}

// settledActions returns the status and the requeue time for a token that was issued at that time.
func (s observation) settledActions(now time.Time, g tokenGrant, at time.Time) actions {
	out := actions{status: *s.token.Status.DeepCopy()}
	out.status.IssuedAt = &metav1.Time{Time: at}
	end := at.Add(g.lifetime)
	switch {
	case isRefreshed(s.token):
		out.requeueAfter = max(time.Second, at.Add(renewAfter(g)).Sub(now))
		s.setConditions(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable,
			"the operator renews the token before it expires")
	case now.Before(end):
		out.requeueAfter = max(time.Second, end.Sub(now))
		s.setConditions(&out, now, metav1.ConditionTrue, v1beta1.ReasonAvailable,
			"the token is valid until "+end.UTC().Format(time.RFC3339))
	default:
		s.setConditions(&out, now, metav1.ConditionFalse, ReasonExpired,
			"the token has expired and spec.refresh is false")
	}
	return out
}

// blockedActions returns actions that only report why nothing can be done.
func (s observation) blockedActions(now time.Time, reason, message string) actions {
	out := actions{status: *s.token.Status.DeepCopy()}
	s.setConditions(&out, now, metav1.ConditionFalse, reason, message)
	return out
}

// setConditions sets the conditions Ready and FieldsIgnored.
func (s observation) setConditions(
	out *actions, now time.Time, status metav1.ConditionStatus, reason, message string,
) {
	v1beta1.SetCondition(&out.status.Conditions, v1beta1.ConditionReady, metav1.Condition{Status: status, Reason: reason,
		Message: message}, s.token.Generation, now)
	v1beta1.SetFieldsIgnored(&out.status.Conditions, s.token.Spec.IgnoredFields(), s.token.Generation, now)
}
