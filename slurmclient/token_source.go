package slurmclient

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// TokenSource returns the token that requests carry. Its methods may be called concurrently. Their
// errors never contain the token.
type TokenSource interface {
	// Token returns the current token. It does not use the network.
	Token() (string, error)
	// Reload gets the token again after the server refused it, and reports whether the token
	// changed.
	Reload() (changed bool, err error)
	// Expiry returns when the token expires (its exp claim), or zero if that is unknown.
	Expiry() time.Time
}

// TokenFromFile returns a source that reads the token from a file, and reads it again whenever the
// file has changed. Requests use a rotated token at once. While the file cannot be read, the source
// returns the last good token.
func TokenFromFile(path string) TokenSource { return &fileToken{path: path} }

type fileToken struct {
	path string

	mu    sync.Mutex
	token string
	info  os.FileInfo
}

func (f *fileToken) Token() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return f.keep(fmt.Errorf("reading the token file: %w", err))
	}
	if f.info != nil && f.token != "" && os.SameFile(f.info, info) &&
		f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size() {
		return f.token, nil
	}
	if err := f.read(info); err != nil {
		return f.keep(err)
	}
	return f.token, nil
}

// keep returns the last good token while the file cannot be read, since a rotation may be in
// progress. Without a good token it returns the error.
func (f *fileToken) keep(err error) (string, error) {
	if f.token != "" {
		return f.token, nil
	}
	return "", err
}

func (f *fileToken) read(info os.FileInfo) error {
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("reading the token file: %w", err)
	}
	token, err := cleanToken(string(raw))
	if err != nil {
		return fmt.Errorf("the token file %s %w", f.path, err)
	}
	f.token, f.info = token, info
	return nil
}

func (f *fileToken) Reload() (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.token
	info, err := os.Stat(f.path)
	if err != nil {
		return false, fmt.Errorf("reading the token file: %w", err)
	}
	if err := f.read(info); err != nil {
		return false, err
	}
	return f.token != old, nil
}

func (f *fileToken) Expiry() time.Time {
	token, err := f.Token()
	if err != nil {
		return time.Time{}
	}
	return expiryOf(token)
}

// TokenFromEnv returns a source that reads the token from an environment variable at every use.
func TokenFromEnv(name string) TokenSource { return envToken(name) }

type envToken string

func (e envToken) Token() (string, error) {
	token, err := cleanToken(os.Getenv(string(e)))
	if err != nil {
		return "", fmt.Errorf("the environment variable %s %w", string(e), err)
	}
	return token, nil
}

func (e envToken) Reload() (bool, error) { return false, nil }

func (e envToken) Expiry() time.Time {
	token, err := e.Token()
	if err != nil {
		return time.Time{}
	}
	return expiryOf(token)
}

// TokenFromKey returns a source that signs tokens for user with a key of slurmctld (signing.ParseKey). Each token is valid
// for lifetime and is renewed when a fifth of that is left.
func TokenFromKey(key []byte, user string, lifetime time.Duration, now func() time.Time) TokenSource {
	return &mintedToken{key: func() ([]byte, error) { return key, nil }, user: user, lifetime: lifetime, now: now}
}

// TokenFromKeyFile is TokenFromKey with a key that is read from a file for each new token.
func TokenFromKeyFile(path, user string, lifetime time.Duration) TokenSource {
	read := func() ([]byte, error) {
		key, err := os.ReadFile(path)
		if err == nil && len(key) == 0 {
			err = errors.New("the file is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the JWT key: %w", err)
		}
		return key, nil
	}
	return &mintedToken{key: read, user: user, lifetime: lifetime, now: time.Now}
}

type mintedToken struct {
	key      func() ([]byte, error)
	user     string
	lifetime time.Duration
	now      func() time.Time

	mu      sync.Mutex
	token   string
	expires time.Time
}

func (m *mintedToken) Token() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.token != "" && m.expires.Sub(m.now()) > m.lifetime/5 {
		return m.token, nil
	}
	if err := m.mint(); err != nil && !m.now().Before(m.expires) {
		return "", err
	}
	return m.token, nil
}

func (m *mintedToken) mint() error {
	key, err := m.key()
	if err != nil {
		return err
	}
	signing, err := signing.ParseKey(key)
	if err != nil {
		return err
	}
	now := m.now()
	token, err := signing.Sign(jwt.MapClaims{"iat": now.Unix(), "exp": now.Add(m.lifetime).Unix(), "sun": m.user})
	if err != nil {
		return err
	}
	m.token, m.expires = token, now.Add(m.lifetime)
	return nil
}

func (m *mintedToken) Reload() (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.token
	if err := m.mint(); err != nil {
		return false, err
	}
	return m.token != old, nil
}

func (m *mintedToken) Expiry() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.expires
}

// cleanToken trims white space and the prefix "SLURM_JWT=" that scontrol token prints.
func cleanToken(raw string) (string, error) {
	token := strings.TrimPrefix(strings.TrimSpace(raw), "SLURM_JWT=")
	switch {
	case token == "":
		return "", errors.New("contains no token")
	case strings.ContainsAny(token, " \t\r\n"):
		return "", errors.New("contains more than one word: it must contain only the token")
	}
	return token, nil
}

// expiryOf reads the exp claim without checking the signature, which only slurmctld can check.
func expiryOf(token string) time.Time {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err != nil {
		return time.Time{}
	}
	at, err := claims.GetExpirationTime()
	if err != nil || at == nil {
		return time.Time{}
	}
	return at.Time
}
