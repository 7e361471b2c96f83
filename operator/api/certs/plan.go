package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Bundle is what the Secret holds, all in PEM.
type Bundle struct {
	// CACert has the CA's certificate first and those of former CAs behind it.
	CACert, CAKey []byte
	// Cert and Key are the server's.
	Cert, Key []byte
}

// action is what to make anew.
type action int

const (
	keep action = iota
	renewServing
	renewAll
)

// plan decides what has to be made anew, and says why. names are those that the
// certificate has to be good for. It is pure and total: what can not be read is
// made anew.
func plan(now time.Time, b Bundle, names []string) (action, string) {
	ca := certificates(b.CACert)
	if len(ca) == 0 {
		return renewAll, "there is no CA"
	}
	if _, err := tls.X509KeyPair(encode(ca[0]), b.CAKey); err != nil {
		return renewAll, "the CA has no matching key"
	}
	if !ca[0].IsCA || aging(now, ca[0]) {
		return renewAll, "the CA's time is running out"
	}
	serving := certificates(b.Cert)
	if len(serving) == 0 {
		return renewServing, "there is no certificate"
	}
	if _, err := tls.X509KeyPair(b.Cert, b.Key); err != nil {
		return renewServing, "the certificate has no matching key"
	}
	if serving[0].CheckSignatureFrom(ca[0]) != nil {
		return renewServing, "the certificate is of another CA"
	}
	if aging(now, serving[0]) {
		return renewServing, "the certificate's time is running out"
	}
	if slices.ContainsFunc(names, func(n string) bool { return serving[0].VerifyHostname(n) != nil }) {
		return renewServing, "the certificate is for other names"
	}
	return keep, ""
}

// aging reports that two thirds of the certificate's life have passed, or that it
// has not begun.
func aging(now time.Time, c *x509.Certificate) bool {
	life := c.NotAfter.Sub(c.NotBefore)
	return now.Before(c.NotBefore) || !now.Before(c.NotBefore.Add(life/3*2))
}

// certificates reads as many certificates as there are.
func certificates(text []byte) []*x509.Certificate {
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

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
