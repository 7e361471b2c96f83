package access

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// SigningKeyName is the key of the Secret names.JWTKeysSecret that tokens are signed with.
const SigningKeyName = "signing.key"

// ErrNotForHS256 reports a key in PEM. Slurm verifies tokens of such keys by a key set and the id of the key in it,
// which an object does not name.
var ErrNotForHS256 = errors.New("the key is in PEM, for RSA or elliptic curves: tokens can be signed with keys for HS256 only")

// ErrKeyOfToken reports that a Token made the Secret of a key.
var ErrKeyOfToken = errors.New("a Token made the Secret, so what it contains is no key: name another Secret")

// ReadSigningKey returns the key that tokens are signed with (signing.ParseKey): the key that r names, or the rotated
// key that replaced it (package rotation). The error is a *MissingError if r's key is missing or empty, ErrNotForHS256
// if it is in PEM, and ErrKeyOfToken if a Token made its Secret. A Secret that a Token made under the name of a rotated
// key's is ignored.
func ReadSigningKey(ctx context.Context, kube SecretReader, r refs.KeyRef) ([]byte, error) {
	rotated, err := kube.Read(ctx, refs.KeyRef{Kind: r.Kind, Namespace: r.Namespace,
		Name: names.JWTKeysSecret(r.Name, r.Key), Key: SigningKeyName})
	if key := rotated.Data[SigningKeyName]; err == nil && len(key) > 0 && !rotated.HoldsToken {
		return key, nil
	}
	// A reader with rights for a single Secret cannot read the other one.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, err
	}
	object, err := readObjectWithKey(ctx, kube, r)
	key := object.Data[r.Key]
	switch {
	case err != nil:
		return nil, err
	case object.HoldsToken:
		return nil, ErrKeyOfToken
	case signing.IsPEM(key):
		return nil, ErrNotForHS256
	}
	return key, nil
}
