// Package signing signs the tokens of auth/jwt, with the keys that slurmctld verifies. It is pure.
package signing

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"

	"github.com/golang-jwt/jwt/v5"
)

// Key signs tokens of auth/jwt. ParseKey returns one.
type Key struct {
	method          jwt.SigningMethod
	private, public any
	// id is the id of a key for RS256 in slurmctld's key set. Slurm has one key for HS256, without an id.
	id string
}

// ParseKey returns the key for RS256 if raw is an RSA key in PEM (PKCS #8), and otherwise an HS256 key of these bytes. The error contains
// no part of the key.
//
// Slurm verifies HS256 with its jwt_key and RS256 with its key set (slurm.conf(5), AuthAltParameters).
func ParseKey(raw []byte) (Key, error) {
	if !IsPEM(raw) {
		return Key{method: jwt.SigningMethodHS256, private: raw, public: raw}, nil
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return Key{}, errors.New("the key is broken PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, isRSA := parsed.(*rsa.PrivateKey)
	if err != nil || !isRSA {
		return Key{}, errors.New("the key in PEM is no RSA key of PKCS #8")
	}
	return Key{method: jwt.SigningMethodRS256, private: key, public: &key.PublicKey,
		id: RSAKeyID(&key.PublicKey)}, nil
}

// IsPEM reports whether a key is in PEM, as keys for RSA and elliptic curves are.
func IsPEM(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("-----BEGIN")) }

// Sign returns a token with the claims.
func (k Key) Sign(claims jwt.Claims) (string, error) {
	token := jwt.NewWithClaims(k.method, claims)
	if k.id != "" {
		token.Header["kid"] = k.id
	}
	text, err := token.SignedString(k.private)
	if err != nil {
		return "", errors.New("the key cannot sign tokens")
	}
	return text, nil
}

// Read verifies a token's signature and reads its claims. It does not check their times. It returns an error if the key has not signed the
// token.
func (k Key) Read(token string, claims jwt.Claims) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{k.method.Alg()}), jwt.WithoutClaimsValidation())
	parsed, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return k.public, nil })
	if err != nil {
		return fmt.Errorf("verifying the token: %w", err)
	}
	if id, _ := parsed.Header["kid"].(string); id != k.id {
		return errors.New("verifying the token: it names another key")
	}
	return nil
}

// RSAKeyID returns the id of an RSA key in a key set: its thumbprint (RFC 7638).
func RSAKeyID(key *rsa.PublicKey) string {
	modulus, exponent := RSAKeyNumbers(key)
	sum := sha256.Sum256(fmt.Appendf(nil, `{"e":"%s","kty":"RSA","n":"%s"}`, exponent, modulus))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// RSAKeyNumbers returns the modulus and the exponent of an RSA key as key sets have them (RFC 7518, 6.3.1).
func RSAKeyNumbers(key *rsa.PublicKey) (modulus, exponent string) {
	return base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())
}
