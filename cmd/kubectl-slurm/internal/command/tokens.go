package command

import (
	"context"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/doctor"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// readTokens reads the Secrets of Clusters. Few users may read them; for the others, the tokens are
// recorded as not checked.
func (x *observer) readTokens(ctx context.Context) {
	for _, c := range x.observed.Clusters {
		ref := c.Spec.Token.SecretRef
		t := doctor.Token{Cluster: doctor.Object{Kind: v1beta1.KindCluster, Namespace: c.Namespace, Name: c.Name},
			Secret: ref.Name, Key: ref.Key}
		secret, err := x.api.Secret(ctx, c.Namespace, ref.Name)
		switch {
		case apierrors.IsNotFound(err):
			t.State = doctor.NoSecret
		case err != nil:
			x.noteNotRead("the token of Cluster "+c.Namespace+"/"+c.Name, err)
			continue
		default:
			text, there := secret.Data[ref.Key]
			parseTokenSecret(&t, text, there)
			if owner := metav1.GetControllerOf(secret); owner != nil && owner.Kind == v1beta1.KindToken {
				t.RenewedBy = owner.Name
			}
		}
		x.observed.Tokens = append(x.observed.Tokens, t)
	}
}

// parseTokenSecret reads the state of a token. It does not verify the token, which is up to
// slurmrestd.
func parseTokenSecret(t *doctor.Token, text []byte, there bool) {
	if !there {
		t.State = doctor.NoKey
		return
	}
	token, _, err := jwt.NewParser().ParseUnverified(strings.TrimSpace(string(text)), jwt.MapClaims{})
	if err != nil {
		t.State = doctor.NoToken
		return
	}
	t.State = doctor.TokenGood
	if ends, err := token.Claims.GetExpirationTime(); err == nil && ends != nil {
		t.ExpiresAt = ends.Time
	}
	if begins, err := token.Claims.GetIssuedAt(); err == nil && begins != nil && !t.ExpiresAt.IsZero() {
		t.Lifetime = t.ExpiresAt.Sub(begins.Time)
	}
}
