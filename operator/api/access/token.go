package access

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient"
)

const (
	// reloadInterval is the shortest time between two reads of a Secret. retryReadInterval replaces it
	// while the Secret contains no token, an expired one or a refused one.
	secretEvery  = time.Minute
	missingEvery = 10 * time.Second
	// firstReadInterval replaces both until the Secret was read once: it is often about to be created.
	firstEvery = 2 * time.Second
	// reloadBefore is how long before its expiry a token is read again. Tokens are usually renewed
	// when a fifth of their lifetime is left.
	renewBefore = 5 * time.Minute
	// readTimeout limits one read.
	readTimeout = 10 * time.Second
)

// secretTokenSource provides tokens from a Secret. Token never uses the network. keepCurrent reads the
// Secret while there is no token and before one expires, and so does Reload.
type secretToken struct {
	read func(ctx context.Context) ([]byte, error)
	from func(raw []byte) (slurmclient.TokenSource, error)
	now  func() time.Time
	ctx  func() context.Context

	mu    sync.Mutex
	raw   []byte
	held  slurmclient.TokenSource
	err   error
	tried time.Time
}

var errNoToken = errors.New("the token has not been read yet")

// newTokenSource returns the source of an endpoint's tokens. user and lifetime apply to minted tokens.
// ctx bounds the reads of Reload.
func tokenOf(
	ctx context.Context, kube Kube, t Target, user string, lifetime time.Duration, now func() time.Time,
) *secretToken {
	read, from := func(ctx context.Context) ([]byte, error) { return readToken(ctx, kube, t) }, fixedToken
	if t.Mint {
		read = func(ctx context.Context) ([]byte, error) { return ReadKey(ctx, kube, t.Token) }
		from = func(raw []byte) (slurmclient.TokenSource, error) {
			if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("-----BEGIN")) {
				return nil, errors.New("the key is in PEM: tokens can be minted only with keys for HS256")
			}
			return slurmclient.TokenFromKey(raw, user, lifetime, now), nil
		}
	}
	return &secretToken{
		read: read, from: from, now: now, err: errNoToken,
		ctx: func() context.Context { return ctx },
	}
}

// Token implements slurmclient.TokenSource.
func (s *secretToken) Token() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return "", s.err
	}
	return s.held.Token()
}

// Reload implements slurmclient.TokenSource.
func (s *secretToken) Reload() (bool, error) {
	changed, err := s.refresh(s.ctx(), missingEvery)
	if changed || err != nil {
		return changed, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return false, s.err
	}
	return s.held.Reload()
}

// Expiry implements slurmclient.TokenSource.
func (s *secretToken) Expiry() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return time.Time{}
	}
	return s.held.Expiry()
}

// refresh reads the Secret unless the last read is more recent than every. It reports whether the
// content has changed.
func (s *secretToken) refresh(ctx context.Context, every time.Duration) (bool, error) {
	if !s.mayRead(every) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	raw, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.held != nil && bytes.Equal(raw, s.raw) {
		return false, nil
	}
	var held slurmclient.TokenSource
	if err == nil {
		held, err = s.from(raw)
	}
	if err != nil {
		s.err = err
		return false, err
	}
	s.raw, s.held, s.err = raw, held, nil
	return true, nil
}

func (s *secretToken) mayRead(every time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if end := s.end(); s.held == nil || !end.IsZero() && end.Before(now) {
		every = missingEvery
	}
	if s.raw == nil {
		every = firstEvery
	}
	if !s.tried.IsZero() && now.Sub(s.tried) < every {
		return false
	}
	s.tried = now
	return true
}

// isDue reports whether the Secret should be read although no server refused the token.
func (s *secretToken) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return true
	}
	end := s.end()
	return !end.IsZero() && end.Sub(s.now()) < renewBefore
}

// currentExpiry returns when the token of the Secret expires. It is zero without a token, for a token
// without an expiry, and for a key.
func (s *secretToken) end() time.Time {
	if held, ok := s.held.(heldToken); ok {
		return held.expiry
	}
	return time.Time{}
}

// keepCurrent reads the Secret when that is due, until ctx ends. Token returns the error of a failed
// read.
func (s *secretToken) keep(ctx context.Context) {
	tick := time.NewTicker(firstEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.due() {
				_, _ = s.refresh(ctx, secretEvery)
			}
		}
	}
}

// staticToken is a token as read from a Secret.
type heldToken struct {
	token  string
	expiry time.Time
}

// parseToken parses a token as scontrol(1) prints it, with or without "SLURM_JWT=".
func fixedToken(raw []byte) (slurmclient.TokenSource, error) {
	token := tokenText(raw)
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("the Secret's key must contain only a token")
	}
	h := heldToken{token: token}
	claims := jwt.MapClaims{}
	// Only slurmctld can verify the signature.
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err == nil {
		if end, err := claims.GetExpirationTime(); err == nil && end != nil {
			h.expiry = end.Time
		}
	}
	return h, nil
}

// trimToken removes white space and the prefix "SLURM_JWT=".
func tokenText(raw []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(raw)), "SLURM_JWT=")
}

func (h heldToken) Token() (string, error) { return h.token, nil }

func (h heldToken) Reload() (bool, error) { return false, nil }

func (h heldToken) Expiry() time.Time { return h.expiry }
