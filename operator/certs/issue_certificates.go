package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	servingLifetime = 90 * 24 * time.Hour
	// clockSkew is the largest difference between clocks.
	clockSkew = 5 * time.Minute
)

// certificateSubject contains the name of the CA and the names of the server.
type certificateSubject struct {
	caName string
	names  []string
}

// splitHosts separates addresses from DNS names.
func (s certificateSubject) splitHosts() (hosts []string, addresses []net.IP) {
	for _, name := range s.names {
		if ip := net.ParseIP(name); ip != nil {
			addresses = append(addresses, ip)
		} else {
			hosts = append(hosts, name)
		}
	}
	return hosts, addresses
}

// issueCertificates renews the certificates that due names and returns the new bundle.
func issueCertificates(now time.Time, old Bundle, due action, s certificateSubject) (Bundle, error) {
	out := old
	if due == renewAll {
		var err error
		if out, err = newCA(now, s.caName, old); err != nil {
			return Bundle{}, err
		}
	}
	pair, err := tls.X509KeyPair(out.CACert, out.CAKey)
	if err != nil {
		return Bundle{}, fmt.Errorf("reading the CA: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || len(s.names) == 0 {
		return Bundle{}, errors.New("issuing a certificate requires a CA that can sign, and a name")
	}
	hosts, addresses := s.splitHosts()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: s.names[0]}, DNSNames: hosts, IPAddresses: addresses,
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(servingLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	out.Cert, out.Key, err = signCertificate(template, parseCertificates(out.CACert)[0], signer)
	return out, err
}

// newCA returns a bundle with a new CA, followed by the former CAs that are still valid.
func newCA(now time.Time, name string, old Bundle) (Bundle, error) {
	template := &x509.Certificate{
		// The name is unique because chains are built by name.
		Subject:   pkix.Name{CommonName: fmt.Sprintf("%s CA %d", name, now.Unix())},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(caLifetime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true,
	}
	cert, key, err := signCertificate(template, nil, nil)
	if err != nil {
		return Bundle{}, err
	}
	const maxFormer = 3 // keeps the bundle from growing without bound
	for i, c := range parseCertificates(old.CACert) {
		if i < maxFormer && now.Before(c.NotAfter) {
			cert = append(cert, encodeCertificate(c)...)
		}
	}
	return Bundle{CACert: cert, CAKey: key}, nil
}

// signCertificate creates a key and a certificate for it. Without a parent the certificate is self-signed.
func signCertificate(template, parent *x509.Certificate, signer crypto.Signer) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	if parent == nil {
		parent, signer = template, private
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("generating a serial number: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a certificate: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}
