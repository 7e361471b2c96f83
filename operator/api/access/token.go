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
	// secretEvery is the least time between two readings of a Secret, missingEvery
	// the same when what it holds is no token, has ended or is refused.
	secretEvery  = time.Minute
	missingEvery = 10 * time.Second
	// firstEvery is the same as long as it has never held a token: it is often about
	// to be made.
	firstEvery = 2 * time.Second
	// renewBefore is how long before its end a token is looked for anew. Tokens are
	// commonly renewed when a fifth of their life is left.
	renewBefore = 5 * time.Minute
	// readTimeout is the deadline of one reading.
	readTimeout = 10 * time.Second
)

// secretToken gives tokens of a Secret. Token reads no network: the Secret is read
// by keep, before a token ends and while there is none, and by Reload.
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

// tokenOf returns the source of a target's tokens. user and lifetime are those of
// minted ones. ctx bounds the readings that Reload makes.
func tokenOf(ctx context.Context, kube Kube, t Target, user string, lifetime time.Duration, now func() time.Time) *secretToken {
	read, from := func(ctx context.Context) ([]byte, error) { return readToken(ctx, kube, t) }, fixedToken
	if t.Mint {
		read = func(ctx context.Context) ([]byte, error) { return ReadKey(ctx, kube, t.Token) }
		from = func(raw []byte) (slurmclient.TokenSource, error) {
			if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("-----BEGIN")) {
				return nil, errors.New("the key is not one for HS256, which is all that tokens can be minted with")
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

// refresh reads the Secret unless that was done less than every ago, and reports whether
// it holds something else than before.
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

// due reports whether the Secret should be read although nobody refused a token.
func (s *secretToken) due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		return true
	}
	end := s.end()
	return !end.IsZero() && end.Sub(s.now()) < renewBefore
}

// end is when the token that was read ends; zero for none, or for a key to mint from.
func (s *secretToken) end() time.Time {
	if held, ok := s.held.(heldToken); ok {
		return held.expiry
	}
	return time.Time{}
}

// keep reads the Secret when that is due, until ctx ends. What fails is told by Token.
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

// heldToken is a token that was read.
type heldToken struct {
	token  string
	expiry time.Time
}

// fixedToken reads a token as scontrol prints it, with or without "SLURM_JWT=".
func fixedToken(raw []byte) (slurmclient.TokenSource, error) {
	token := tokenText(raw)
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("the Secret's key must hold one token and nothing else")
	}
	h := heldToken{token: token}
	claims := jwt.MapClaims{}
	// Only slurmctld can check the signature.
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err == nil {
		if end, err := claims.GetExpirationTime(); err == nil && end != nil {
			h.expiry = end.Time
		}
	}
	return h, nil
}

// tokenText is the token alone.
func tokenText(raw []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(raw)), "SLURM_JWT=")
}

func (h heldToken) Token() (string, error) { return h.token, nil }

func (h heldToken) Reload() (bool, error) { return false, nil }

func (h heldToken) Expiry() time.Time { return h.expiry }
