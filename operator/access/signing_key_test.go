package access_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// secrets are the contents of Secrets by their names, or the errors of reading them.
type secrets map[string]any

func (s secrets) Read(_ context.Context, r refs.KeyRef) (access.SecretContent, error) {
	switch content := s[r.Name].(type) {
	case map[string][]byte:
		return access.SecretContent{Data: content}, nil
	case access.SecretContent:
		return content, nil
	case error:
		return access.SecretContent{}, content
	}
	return access.SecretContent{}, apierrors.NewNotFound(corev1.Resource("secrets"), r.Name)
}

func TestReadSigningKey(t *testing.T) {
	users := map[string][]byte{"jwt": []byte("users")}
	rotated := names.JWTKeysSecret("auth", "jwt")
	broken := errors.New("no connection")
	for _, tc := range []struct {
		name    string
		secrets secrets
		want    string
		isErr   func(error) bool
	}{
		{"the user's key", secrets{"auth": users}, "users", nil},
		{"a key that was rotated", secrets{"auth": users, rotated: map[string][]byte{"signing.key": []byte("new")}},
			"new", nil},
		{"a Secret of somebody else", secrets{"auth": users, rotated: map[string][]byte{"x": []byte("y")}}, "users", nil},
		{"the user's Secret alone may be read", secrets{"auth": users,
			rotated: apierrors.NewForbidden(corev1.Resource("secrets"), rotated, nil)}, "users", nil},
		{"a rotated key that cannot be read", secrets{"auth": users, rotated: broken}, "",
			func(err error) bool { return errors.Is(err, broken) }},
		{"a token under the name of a rotated key", secrets{"auth": users, rotated: access.SecretContent{HoldsToken: true,
			Data: map[string][]byte{"signing.key": []byte("token")}}}, "users", nil},
		{"a token under the name of the key", secrets{"auth": access.SecretContent{HoldsToken: true,
			Data: map[string][]byte{"jwt": []byte("token")}}}, "",
			func(err error) bool { return errors.Is(err, access.ErrKeyOfToken) }},
		{"none", secrets{}, "", access.IsMissing},
		{"an empty one", secrets{"auth": map[string][]byte{"jwt": nil}}, "", access.IsMissing},
		{"one in PEM", secrets{"auth": map[string][]byte{"jwt": []byte("-----BEGIN RSA PRIVATE KEY-----")}}, "",
			func(err error) bool { return errors.Is(err, access.ErrNotForHS256) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := access.ReadSigningKey(t.Context(), tc.secrets, refs.KeyRef{Kind: "Secret", Namespace: "team",
				Name: "auth", Key: "jwt"})
			if tc.isErr == nil && (err != nil || string(got) != tc.want) || tc.isErr != nil && !tc.isErr(err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
