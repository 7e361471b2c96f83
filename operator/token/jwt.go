package token

import (
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// Issuer is the claim iss of our tokens.
const Issuer = "slurm-operator"

// tokenClaims are the claims of our tokens. Slurm reads sun and exp.
type tokenClaims struct {
	jwt.RegisteredClaims
	User string `json:"sun"`
}

// tokenGrant is the content of a token.
type tokenGrant struct {
	user     string
	lifetime time.Duration // whole seconds
}

// sign returns a token that is valid from now on. It is pure.
func (g tokenGrant) sign(now time.Time, id string, key signing.Key) (string, error) {
	begin := jwt.NewNumericDate(now.Truncate(time.Second))
	return key.Sign(tokenClaims{User: g.user, RegisteredClaims: jwt.RegisteredClaims{
		Issuer: Issuer, ID: id, IssuedAt: begin, NotBefore: begin,
		ExpiresAt: jwt.NewNumericDate(begin.Add(g.lifetime)),
	}})
}

// issuedAt returns when a token was issued, and false unless sign made it with the key and the
// same grant.
func (g tokenGrant) issuedAt(text []byte, key signing.Key) (time.Time, bool) {
	var c tokenClaims
	if key.Read(string(text), &c) != nil {
		return time.Time{}, false
	}
	return g.readClaims(c)
}

// claimedAt is issuedAt for a token that any key may have signed.
func (g tokenGrant) claimedAt(text []byte) (time.Time, bool) {
	var c tokenClaims
	if _, _, err := jwt.NewParser().ParseUnverified(string(text), &c); err != nil {
		return time.Time{}, false
	}
	return g.readClaims(c)
}

// readClaims returns when a token with these claims was issued, and false if it has another grant.
func (g tokenGrant) readClaims(c tokenClaims) (time.Time, bool) {
	if c.User != g.user || c.Issuer != Issuer || c.IssuedAt == nil || c.ExpiresAt == nil ||
		c.ExpiresAt.Sub(c.IssuedAt.Time) != g.lifetime {
		return time.Time{}, false
	}
	return c.IssuedAt.Time, true
}
