package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/slurmtide/slurmtide/operator/refs"
)

// tlsFiles contains the certificates and the key of an endpoint in PEM, as read from Kubernetes.
type tlsFiles struct{ caPEM, certPEM, keyPEM []byte }

func (t tlsFiles) equal(u tlsFiles) bool {
	return slices.Equal(t.caPEM, u.caPEM) && slices.Equal(t.certPEM, u.certPEM) && slices.Equal(t.keyPEM, u.keyPEM)
}

// readTLSFiles reads the certificates and the key that the endpoint names.
func readTLSFiles(ctx context.Context, kube SecretReader, t refs.Endpoint) (tlsFiles, error) {
	var out tlsFiles
	if t.CA != (refs.KeyRef{}) {
		pem, err := ReadKey(ctx, kube, t.CA)
		var missing *MissingError
		if err != nil && (!t.CAOptional || !errors.As(err, &missing)) {
			return tlsFiles{}, err
		}
		out.caPEM = pem
	}
	if t.Certificate != (refs.KeyRef{}) {
		secret, err := kube.Read(ctx, t.Certificate)
		if err != nil {
			return tlsFiles{}, err
		}
		out.certPEM, out.keyPEM = secret.Data["tls.crt"], secret.Data["tls.key"]
	}
	return out, nil
}

// config returns the client's TLS configuration. It is nil if the endpoint names no certificates.
func (t tlsFiles) config(target refs.Endpoint) (*tls.Config, error) {
	if target.CA == (refs.KeyRef{}) && target.Certificate == (refs.KeyRef{}) {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if target.CA != (refs.KeyRef{}) && (!target.CAOptional || len(t.caPEM) > 0) {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.caPEM) {
			return nil, fmt.Errorf("%s contains no certificate in PEM", target.CA)
		}
	}
	if target.Certificate != (refs.KeyRef{}) {
		pair, err := tls.X509KeyPair(t.certPEM, t.keyPEM)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate in Secret %s/%s: %w",
				target.Certificate.Namespace, target.Certificate.Name, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
