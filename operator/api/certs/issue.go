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
	caLife      = 10 * 365 * 24 * time.Hour
	servingLife = 90 * 24 * time.Hour
	// skew is how far clocks may differ.
	skew = 5 * time.Minute
)

// subject is what certificates are for: the CA by its name, the server by its.
type subject struct {
	ca    string
	names []string
}

// split tells addresses from names.
func (s subject) split() (hosts []string, addresses []net.IP) {
	for _, name := range s.names {
		if ip := net.ParseIP(name); ip != nil {
			addresses = append(addresses, ip)
		} else {
			hosts = append(hosts, name)
		}
	}
	return hosts, addresses
}

// issue makes anew what the action says.
func issue(now time.Time, old Bundle, what action, of subject) (Bundle, error) {
	out := old
	if what == renewAll {
		var err error
		if out, err = newCA(now, of.ca, old); err != nil {
			return Bundle{}, err
		}
	}
	pair, err := tls.X509KeyPair(out.CACert, out.CAKey)
	if err != nil {
		return Bundle{}, fmt.Errorf("reading the CA: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || len(of.names) == 0 {
		return Bundle{}, errors.New("issuing a certificate needs a CA that signs, and a name")
	}
	hosts, addresses := of.split()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: of.names[0]}, DNSNames: hosts, IPAddresses: addresses,
		NotBefore: now.Add(-skew), NotAfter: now.Add(servingLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	out.Cert, out.Key, err = sign(template, certificates(out.CACert)[0], signer)
	return out, err
}

// newCA returns a bundle with a new CA before the old ones that are still good.
func newCA(now time.Time, name string, old Bundle) (Bundle, error) {
	template := &x509.Certificate{
		// A name of its own: chains are looked for by name.
		Subject:   pkix.Name{CommonName: fmt.Sprintf("%s CA %d", name, now.Unix())},
		NotBefore: now.Add(-skew), NotAfter: now.Add(caLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true,
	}
	cert, key, err := sign(template, nil, nil)
	if err != nil {
		return Bundle{}, err
	}
	const most = 3 // of former CAs, so that the bundle does not grow for ever
	for i, c := range certificates(old.CACert) {
		if i < most && now.Before(c.NotAfter) {
			cert = append(cert, encode(c)...)
		}
	}
	return Bundle{CACert: cert, CAKey: key}, nil
}

// sign makes a key and a certificate for it; without a parent it signs itself.
func sign(template, parent *x509.Certificate, signer crypto.Signer) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	if parent == nil {
		parent, signer = template, private
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("making a serial number: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a certificate: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a key: %w", err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}
