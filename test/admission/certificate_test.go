//go:build e2e

package admission

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (s *scene) losesCertificate(t *testing.T) {
	before, err := s.trusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.secret(t)); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, func(ctx context.Context) error {
		now, err := s.trusted(ctx)
		if err == nil && now == before {
			err = errors.New("the definition still trusts the old CA")
		}
		return err
	})
	s.becomesKnown(t)
}

// writeCertificateFiles writes the self-signed certificate to files, as if someone else had issued
// it.
func (s *scene) certificateFiles(t *testing.T) string {
	t.Helper()
	dir, secret := t.TempDir(), s.secret(t)
	for _, name := range []string{"tls.crt", "tls.key"} {
		coded, _, err := unstructured.NestedString(secret.Object, "data", name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (s *scene) hasCertificate(t *testing.T) {
	before, err := s.trusted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.secret(t)); err != nil { // the files replace it
		t.Fatal(err)
	}
	s.becomesKnown(t)
	if now, err := s.trusted(t.Context()); now != before || err != nil {
		t.Errorf("the definition trusts another CA, %v", err)
	}
}
