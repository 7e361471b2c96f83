package token

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Issuer is the claim iss of our tokens.
const Issuer = "slurm-operator"

// tokenClaims are the claims of our tokens. Slurm reads sun and exp.
type tokenClaims struct {
	jwt.RegisteredClaims
	User string `json:"sun"`
}

// tokenGrant is what a token grants.
type tokenGrant struct {
	user     string
	lifetime time.Duration // whole seconds
}

// sign returns a token that is valid from now on. It is pure.
func (g tokenGrant) sign(now time.Time, id string, key []byte) (string, error) {
	begin := jwt.NewNumericDate(now.Truncate(time.Second))
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256,
		tokenClaims{User: g.user, RegisteredClaims: jwt.RegisteredClaims{
			Issuer: Issuer, ID: id, IssuedAt: begin, NotBefore: begin,
			ExpiresAt: jwt.NewNumericDate(begin.Add(g.lifetime)),
		}}).SignedString(key)
	if err != nil {
		return "", errors.New("the key cannot sign tokens")
	}
	return text, nil
}

// issuedAt returns when a token was issued, and false unless sign made it with the key and the
// same grant.
func (g tokenGrant) issuedAt(text []byte, key []byte) (time.Time, bool) {
	var c tokenClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithoutClaimsValidation())
	_, err := parser.ParseWithClaims(string(text), &c, func(*jwt.Token) (any, error) { return key, nil })
	if err != nil || c.User != g.user || c.Issuer != Issuer || c.IssuedAt == nil || c.ExpiresAt == nil {
		return time.Time{}, false
	}
	if c.ExpiresAt.Sub(c.IssuedAt.Time) != g.lifetime {
		return time.Time{}, false
	}
	return c.IssuedAt.Time, true
}

// checkSigningKey returns why tokens cannot be signed with the key, or nil if they can. Slurm
// verifies tokens of RSA keys by a key set and the name of a key in it, which a Token does not have.
func checkSigningKey(key []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(key), []byte("-----BEGIN")) {
		return fmt.Errorf("the key is in PEM, for RSA or elliptic curves: tokens can be signed with keys for HS256 only")
	}
	return nil
}
