package access

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Config configures the access to all clusters.
type Config struct {
	// Secrets reads tokens, keys and certificates.
	Secrets SecretReader
	// User and Lifetime apply to tokens minted for Controllers.
	User     string
	Lifetime time.Duration
	// APIVersion and Timeout apply to the client of every cluster, see slurmclient.Config.
	APIVersion string
	Timeout    time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Session is an open client with its token source. The caller of Dial closes the client.
type Session struct {
	Client *slurmclient.Client
	Token  slurmclient.TokenSource
	// keepToken renews the token until ctx ends. certificatesChanged reports whether the certificates in
	// Kubernetes differ from the client's. Both may be nil.
	keepToken           func(ctx context.Context)
	certificatesChanged func(ctx context.Context) bool
}

// Dial creates a client for the endpoint. It reads Kubernetes but does not connect to slurmrestd. An
// unreadable token is not an error here: requests fail with the cause until the token can be read.
// ctx bounds all later reads of the token. observer may be nil.
func (cfg Config) Dial(ctx context.Context, t refs.Endpoint, observer slurmclient.Observer) (Session, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	read, err := readTLSFilesInTime(ctx, cfg.Secrets, t)
	if err != nil {
		return Session{}, err
	}
	tlsConfig, err := read.config(t)
	if err != nil {
		return Session{}, err
	}
	token := newTokenSource(ctx, cfg.Secrets, t, cfg.User, cfg.Lifetime, cfg.Now)
	_, _ = token.refresh(ctx, reloadInterval)
	client, err := slurmclient.New(slurmclient.Config{
		URL: t.URL, Version: cfg.APIVersion, Token: token, TLS: tlsConfig, Timeout: cfg.Timeout, Observer: observer,
	})
	if err != nil {
		return Session{}, err
	}
	l := Session{Client: client, Token: token, keepToken: token.keepCurrent}
	if tlsConfig != nil {
		l.certificatesChanged = func(ctx context.Context) bool {
			now, err := readTLSFilesInTime(ctx, cfg.Secrets, t)
			return err == nil && !now.equal(read)
		}
	}
	return l, nil
}

func readTLSFilesInTime(ctx context.Context, kube SecretReader, t refs.Endpoint) (tlsFiles, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return readTLSFiles(ctx, kube, t)
}
