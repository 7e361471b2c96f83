package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Bundle is the content of the Secret. All fields are in PEM.
type Bundle struct {
	// CACert contains the CA's certificate first, then certificates of former CAs.
	CACert, CAKey []byte
	// Cert and Key are the server's.
	Cert, Key []byte
}

// action is what to renew.
type action int

const (
	keepCertificates action = iota
	renewServing
	renewAll
)

// planRenewal decides what to renew and returns the reason. names are the names that the certificate must
// have. The function is pure and total: it renews certificates that it cannot parse.
func planRenewal(now time.Time, b Bundle, names []string) (action, string) {
	ca := parseCertificates(b.CACert)
	if len(ca) == 0 {
		return renewAll, "there is no CA"
	}
	if _, err := tls.X509KeyPair(encodeCertificate(ca[0]), b.CAKey); err != nil {
		return renewAll, "the CA has no matching key"
	}
	if !ca[0].IsCA || isAging(now, ca[0]) {
		return renewAll, "the CA expires soon"
	}
	serving := parseCertificates(b.Cert)
	if len(serving) == 0 {
		return renewServing, "there is no certificate"
	}
	if _, err := tls.X509KeyPair(b.Cert, b.Key); err != nil {
		return renewServing, "the certificate has no matching key"
	}
	if serving[0].CheckSignatureFrom(ca[0]) != nil {
		return renewServing, "the certificate is signed by another CA"
	}
	if isAging(now, serving[0]) {
		return renewServing, "the certificate expires soon"
	}
	if slices.ContainsFunc(names, func(n string) bool { return serving[0].VerifyHostname(n) != nil }) {
		return renewServing, "the certificate is for other names"
	}
	return keepCertificates, ""
}

// isAging reports whether two thirds of the certificate's lifetime have passed, or whether its validity
// has not begun.
func isAging(now time.Time, c *x509.Certificate) bool {
	life := c.NotAfter.Sub(c.NotBefore)
	return now.Before(c.NotBefore) || !now.Before(c.NotBefore.Add(life/3*2))
}

// parseCertificates returns the certificates in text. It skips other blocks.
func parseCertificates(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
