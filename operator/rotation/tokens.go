package rotation

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// maxPickUpDelay is the longest time that users of a Token get to notice its next token.
const maxPickUpDelay = 5 * time.Minute

// observeTokens returns the Tokens that are signed with a key and have a token that is still valid. It also returns how long
// their users may take to notice the next token: the time from renewal to expiry, a fifth of the lifetime.
func (r *Reconciler) observeTokens(ctx context.Context, namespace string, ref *corev1.SecretKeySelector, raw []byte) (
	[]plan.TokenUser, time.Duration, error) {
	key, err := signing.ParseKey(raw)
	if err != nil {
		return nil, 0, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %v", names.JWTKeysSecret(ref.Name, ref.Key), err)
	}
	tokens := &v1beta1.TokenList{}
	if err := r.Client.List(ctx, tokens, client.InNamespace(namespace)); err != nil {
		return nil, 0, fmt.Errorf("listing the Tokens: %w", err)
	}
	var out []plan.TokenUser
	var delay time.Duration
	for i := range tokens.Items {
		t := &tokens.Items[i]
		if !isSameKey(cmp.Or(t.Spec.JWTKeyRef, t.Spec.JWTHS256KeyRef), ref) {
			continue
		}
		secret := &corev1.Secret{}
		err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.TokenSecret(t)}, secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, 0, fmt.Errorf("reading the Secret of Token %s: %w", t.Name, err)
		}
		if err != nil || !metav1.IsControlledBy(secret, t) {
			continue
		}
		user, lifetime := readToken(t.Name, string(secret.Data[names.TokenSecretKey(t)]), key, r.now())
		if lifetime > 0 {
			out, delay = append(out, user), max(delay, lifetime/5)
		}
	}
	return out, min(delay, maxPickUpDelay), nil
}

// readToken returns whether a token is signed with the key, and its lifetime, which is 0 if it is no longer valid.
func readToken(name, text string, key signing.Key, now time.Time) (plan.TokenUser, time.Duration) {
	out := plan.TokenUser{Name: "Token " + name}
	var claims jwt.RegisteredClaims
	_, _, err := jwt.NewParser().ParseUnverified(text, &claims)
	if err != nil || claims.ExpiresAt == nil || claims.IssuedAt == nil || !now.Before(claims.ExpiresAt.Time) {
		return out, 0
	}
	out.IsCurrent = key.Read(text, &jwt.RegisteredClaims{}) == nil
	return out, claims.ExpiresAt.Sub(claims.IssuedAt.Time)
}
