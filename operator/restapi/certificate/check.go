// Package certificate checks the serving certificate of a RestApi. It is pure.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Files are the content of the certificate's Secret in PEM. CA may be empty: then the signature of
// the certificate is not checked.
type Files struct{ Cert, Key, CA []byte }

// Check returns when the certificate ends. If clients that connect to host at the time now would refuse it, the error
// is *problem.Error with the remedy. The error contains nothing of the key. secret and ca name, in messages, the
// sources of the certificate and of the CA certificates.
func Check(now time.Time, host string, files Files, secret, ca string) (end time.Time, err error) {
	invalid := func(format string, args ...any) (time.Time, error) {
		return time.Time{}, problem.New(v1beta1.ReasonInvalidCertificate, format, args...)
	}
	pair, err := tls.X509KeyPair(files.Cert, files.Key)
	if err != nil {
		return invalid("%s: tls.crt and tls.key must be a certificate and its key in PEM: %v", secret, err)
	}
	leaf := pair.Leaf
	if leaf.VerifyHostname(host) != nil {
		return invalid("%s: the certificate is for %s and must be for %s: issue one with this DNS name", secret,
			describeNames(leaf), host)
	}
	if now.After(leaf.NotAfter) {
		return invalid("%s: the certificate ended on %s: renew it", secret, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return invalid("%s: the certificate begins only on %s: wait until then or issue another one", secret,
			leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	if len(files.CA) > 0 {
		if err := verifyChain(now, pair, files.CA); err != nil {
			return invalid("%s: the certificate is not one of the CA in %s: correct one of them: %v", secret, ca, err)
		}
	}
	return leaf.NotAfter, nil
}

// verifyChain returns an error unless one of the CA certificates, in PEM, has signed a server's certificate, perhaps
// through the other certificates of its file.
func verifyChain(now time.Time, pair tls.Certificate, ca []byte) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return errors.New("there is no certificate in PEM")
	}
	for _, der := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(cert)
		}
	}
	_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now})
	return err
}

// describeNames returns the names of a certificate.
func describeNames(cert *x509.Certificate) string {
	names := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no DNS name"
	}
	return strings.Join(names, ", ")
}
