// Package testcert issues certificates for tests.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// CA is a certificate authority.
type CA struct {
	// PEM is its certificate.
	PEM  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key in PEM.
type Pair struct{ Cert, Key []byte }

// NewCA returns a CA whose certificates may be valid from begin on for ten years.
func NewCA(t testing.TB, name string, begin time.Time) *CA {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: begin, NotAfter: begin.AddDate(10, 0, 0), KeyUsage: x509.KeyUsageCertSign, IsCA: true,
		BasicConstraintsValid: true}
	ca := &CA{key: newKey(t)}
	ca.PEM = sign(t, template, template, ca.key, ca.key)
	block, _ := pem.Decode(ca.PEM)
	var err error
	if ca.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return ca
}

// Issue returns a server's certificate for DNS names and addresses, valid from begin to end.
func (ca *CA) Issue(t testing.TB, begin, end time.Time, names ...string) Pair {
	t.Helper()
	return ca.issue(t, begin, end, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, names)
}

// IssuePeer is Issue for a program that is also a client with its certificate.
func (ca *CA) IssuePeer(t testing.TB, begin, end time.Time, names ...string) Pair {
	t.Helper()
	return ca.issue(t, begin, end, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, names)
}

func (ca *CA) issue(t testing.TB, begin, end time.Time, usages []x509.ExtKeyUsage, names []string) Pair {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "server"},
		NotBefore: begin, NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: usages}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := newKey(t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{Cert: sign(t, template, ca.cert, key, ca.key),
		Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns the certificate of a key in PEM.
func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
