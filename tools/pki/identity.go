package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"time"
)

// identity is a certificate with its key.
type identity struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string) (identity, error) {
	return signCertificate(&x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
}

// issue returns a certificate that this authority has signed.
func (ca identity) issue(r certificateRequest) (identity, error) {
	return signCertificate(&x509.Certificate{
		Subject:     r.subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: r.usages,
		DNSNames:    r.hosts,
		IPAddresses: r.ips,
	}, &ca)
}

// signCertificate completes template with a new key and signs it, with its own key if there is no
// authority. The library chooses the serial number.
func signCertificate(template *x509.Certificate, ca *identity) (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().AddDate(10, 0, 0)
	parent := identity{template, key}
	if ca != nil {
		parent = *ca
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.certificate, key.Public(), parent.key)
	if err != nil {
		return identity{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return identity{certificate, key}, err
}

// writeFiles writes the certificate to base.crt and the key to base.key.
func (id identity) writeFiles(base string) error {
	key, err := keyPEM(id.key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".key", key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(base+".crt", certificatePEM(id.certificate), 0o600)
}

// writeServiceAccountKeys writes the key pair that signs and verifies the tokens of service
// accounts.
func writeServiceAccountKeys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := keyPEM(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sa.key"), private, 0o600); err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		0o600)
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func certificatePEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
