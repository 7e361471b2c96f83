package access

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

const (
	// reloadInterval is the shortest time between two reads of a Secret. retryReadInterval replaces it while
	// the Secret contains no token or an expired one. refusedReadInterval replaces it after a refusal: in a
	// rotation of keys, tokens change twice within seconds.
	reloadInterval      = time.Minute
	retryReadInterval   = 10 * time.Second
	refusedReadInterval = 2 * time.Second
	// firstReadInterval replaces both until the Secret was read once: it is often about to be created.
	firstReadInterval = 2 * time.Second
	// reloadBefore is how long before its expiry a token is read again. Tokens are usually renewed
	// when a fifth of their lifetime is left.
	reloadBefore = 5 * time.Minute
	// readTimeout limits one read.
	readTimeout = 10 * time.Second
)

// secretTokenSource provides tokens from a Secret. Token never uses the network. keepCurrent reads the Secret
// until it has a token and before a token expires. Reload also reads it.
type secretTokenSource struct {
	read  func(ctx context.Context) ([]byte, error)
	parse func(raw []byte) (slurmclient.TokenSource, error)
	now   func() time.Time
	ctx   func() context.Context

	reloading chan struct{} // is full while Reload reads the Secret

	mu       sync.Mutex
	content  []byte
	current  slurmclient.TokenSource
	err      error
	lastRead time.Time
}

var errTokenNotRead = errors.New("the token has not been read yet")

// newTokenSource returns the source of an endpoint's tokens. user and lifetime apply to minted tokens.
// ctx bounds the reads of Reload.
func newTokenSource(
	ctx context.Context, kube SecretReader, t refs.Endpoint, user string, lifetime time.Duration, now func() time.Time,
) *secretTokenSource {
	read, from := func(ctx context.Context) ([]byte, error) { return readSendableToken(ctx, kube, t) }, parseToken
	if t.MintsTokens {
		read = func(ctx context.Context) ([]byte, error) { return ReadSigningKey(ctx, kube, t.Token) }
		from = func(raw []byte) (slurmclient.TokenSource, error) {
			return slurmclient.TokenFromKey(raw, user, lifetime, now), nil
		}
	}
	return &secretTokenSource{
		read: read, parse: from, now: now, err: errTokenNotRead,
		ctx: func() context.Context { return ctx }, reloading: make(chan struct{}, 1),
	}
}

// Token implements slurmclient.TokenSource.
func (s *secretTokenSource) Token() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return "", s.err
	}
	return s.current.Token()
}

// Reload implements slurmclient.TokenSource.
func (s *secretTokenSource) Reload() (bool, error) {
	refused := s.held()
	s.reloading <- struct{}{}
	defer func() { <-s.reloading }()
	if s.held() != refused {
		return true, nil // another request was refused at the same time
	}
	changed, err := s.refresh(s.ctx(), refusedReadInterval)
	if changed || err != nil {
		return changed, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return false, s.err
	}
	return s.current.Reload()
}

// held returns the tokens in the Secret's last read content.
func (s *secretTokenSource) held() slurmclient.TokenSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// Expiry implements slurmclient.TokenSource.
func (s *secretTokenSource) Expiry() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return time.Time{}
	}
	return s.current.Expiry()
}

// refresh reads the Secret unless the last read is more recent than every. It reports whether the
// content has changed.
func (s *secretTokenSource) refresh(ctx context.Context, every time.Duration) (bool, error) {
	if !s.mayRead(every) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	raw, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.current != nil && bytes.Equal(raw, s.content) {
		return false, nil
	}
	var held slurmclient.TokenSource
	if err == nil {
		held, err = s.parse(raw)
	}
	if err != nil {
		s.err = err
		return false, err
	}
	s.content, s.current, s.err = raw, held, nil
	return true, nil
}

func (s *secretTokenSource) mayRead(every time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if end := s.currentExpiry(); s.current == nil || !end.IsZero() && end.Before(now) {
		every = retryReadInterval
	}
	if s.content == nil {
		every = firstReadInterval
	}
	if !s.lastRead.IsZero() && now.Sub(s.lastRead) < every {
		return false
	}
	s.lastRead = now
	return true
}

// isDue reports whether the Secret should be read although no server refused the token.
func (s *secretTokenSource) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return true
	}
	end := s.currentExpiry()
	return !end.IsZero() && end.Sub(s.now()) < reloadBefore
}

// currentExpiry returns when the token of the Secret expires. It is zero without a token, for a token
// without an expiry, and for a key.
func (s *secretTokenSource) currentExpiry() time.Time {
	if held, ok := s.current.(staticToken); ok {
		return held.expiry
	}
	return time.Time{}
}

// keepCurrent reads the Secret when that is due, until ctx ends. Token returns the error of a failed
// read.
func (s *secretTokenSource) keepCurrent(ctx context.Context) {
	tick := time.NewTicker(firstReadInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.isDue() {
				_, _ = s.refresh(ctx, reloadInterval)
			}
		}
	}
}

// staticToken is a token as read from a Secret.
type staticToken struct {
	token  string
	expiry time.Time
}

// parseToken parses a token as scontrol(1) prints it, with or without "SLURM_JWT=".
func parseToken(raw []byte) (slurmclient.TokenSource, error) {
	token := trimToken(raw)
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("the Secret's key must contain only a token")
	}
	h := staticToken{token: token}
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
func trimToken(raw []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(raw)), "SLURM_JWT=")
}

func (h staticToken) Token() (string, error) { return h.token, nil }

func (h staticToken) Reload() (bool, error) { return false, nil }

func (h staticToken) Expiry() time.Time { return h.expiry }
