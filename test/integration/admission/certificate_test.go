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

func (s *env) testCertificateLost(t *testing.T) {
	before, err := s.trustedCA(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.certificateSecret(t)); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, time.Minute, func(ctx context.Context) error {
		now, err := s.trustedCA(ctx)
		if err == nil && now == before {
			err = errors.New("the definition still trusts the old CA")
		}
		return err
	})
	s.testWebhooksRegistered(t)
}

// writeCertificateFiles writes the self-signed certificate to files, as if someone else had issued
// it.
func (s *env) writeCertificateFiles(t *testing.T) string {
	t.Helper()
	dir, secret := t.TempDir(), s.certificateSecret(t)
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

func (s *env) testCertificateFromFiles(t *testing.T) {
	before, err := s.trustedCA(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Delete(t.Context(), s.certificateSecret(t)); err != nil { // the files replace it
		t.Fatal(err)
	}
	s.testWebhooksRegistered(t)
	if now, err := s.trustedCA(t.Context()); now != before || err != nil {
		t.Errorf("the definition trusts another CA, %v", err)
	}
}
