package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
)

// tlsFiles contains the certificates and the key of an endpoint in PEM, as read from Kubernetes.
type trust struct{ ca, cert, key []byte }

func (t trust) equal(u trust) bool {
	return slices.Equal(t.ca, u.ca) && slices.Equal(t.cert, u.cert) && slices.Equal(t.key, u.key)
}

// readTLSFiles reads the certificates and the key that the endpoint names.
func trustOf(ctx context.Context, kube Kube, t Target) (trust, error) {
	var out trust
	if t.CA != (Ref{}) {
		pem, err := ReadKey(ctx, kube, t.CA)
		if err != nil {
			return trust{}, err
		}
		out.ca = pem
	}
	if t.Certificate != (Ref{}) {
		secret, err := kube.Read(ctx, t.Certificate)
		if err != nil {
			return trust{}, err
		}
		out.cert, out.key = secret.Data["tls.crt"], secret.Data["tls.key"]
	}
	return out, nil
}

// config returns the client's TLS configuration. It is nil if the system's CAs suffice.
func (t trust) config(target Target) (*tls.Config, error) {
	if target.CA == (Ref{}) && target.Certificate == (Ref{}) {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if target.CA != (Ref{}) {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(t.ca) {
			return nil, fmt.Errorf("%s contains no certificate in PEM", target.CA)
		}
	}
	if target.Certificate != (Ref{}) {
		pair, err := tls.X509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate in Secret %s/%s: %w",
				target.Certificate.Namespace, target.Certificate.Name, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}
