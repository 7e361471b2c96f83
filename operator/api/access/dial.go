package access

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// Config says how clusters are spoken with.
type Config struct {
	// Kube reads Secrets and certificates.
	Kube Kube
	// User and Lifetime are those of tokens minted for Controllers.
	User     string
	Lifetime time.Duration
	// APIVersion and Timeout are as for slurmclient, of every cluster.
	APIVersion string
	Timeout    time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Link is a client with what keeps it going. Whoever made it closes the client.
type Link struct {
	Client *slurmclient.Client
	Token  slurmclient.TokenSource
	// keep renews the token until ctx ends; changed reports whether other
	// certificates are to be used. Both may be nil.
	keep    func(ctx context.Context)
	changed func(ctx context.Context) bool
}

// Dial makes a client for the target. It does not speak with slurmrestd. A token
// that can not be read is no error here: requests fail and tell why, until it can. ctx
// bounds the readings of the token as long as the client lives. observer may be nil.
func (cfg Config) Dial(ctx context.Context, t Target, observer slurmclient.Observer) (Link, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	read, err := trustWithin(ctx, cfg.Kube, t)
	if err != nil {
		return Link{}, err
	}
	tlsConfig, err := read.config(t)
	if err != nil {
		return Link{}, err
	}
	token := tokenOf(ctx, cfg.Kube, t, cfg.User, cfg.Lifetime, cfg.Now)
	_, _ = token.refresh(ctx, secretEvery)
	client, err := slurmclient.New(slurmclient.Config{
		URL: t.URL, Version: cfg.APIVersion, Token: token, TLS: tlsConfig, Timeout: cfg.Timeout, Observer: observer,
	})
	if err != nil {
		return Link{}, err
	}
	l := Link{Client: client, Token: token, keep: token.keep}
	if tlsConfig != nil {
		l.changed = func(ctx context.Context) bool {
			now, err := trustWithin(ctx, cfg.Kube, t)
			return err == nil && !now.equal(read)
		}
	}
	return l, nil
}

func trustWithin(ctx context.Context, kube Kube, t Target) (trust, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return trustOf(ctx, kube, t)
}
