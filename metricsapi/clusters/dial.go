package clusters

import (
	"context"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// link is a client with what keeps it going.
type link struct {
	client *slurmclient.Client
	token  slurmclient.TokenSource
	// keep renews the token until ctx ends; changed reports whether other
	// certificates are to be used. Both may be nil.
	keep    func(ctx context.Context)
	changed func(ctx context.Context) bool
}

// dial makes a client for the target. It does not speak with slurmrestd. A token
// that can not be read is no error here: polls fail and tell why, until it can.
func (cfg *Config) dial(ctx context.Context, t Target, observer slurmclient.Observer) (link, error) {
	if cfg.Fixed != nil {
		client, token, err := cfg.Connect(observer)
		return link{client: client, token: token}, err
	}
	wait, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read, err := trustOf(wait, cfg.Kube, t)
	if err != nil {
		return link{}, err
	}
	tlsConfig, err := read.config(t)
	if err != nil {
		return link{}, err
	}
	token := tokenOf(ctx, cfg.Kube, t, cfg.User, cfg.Lifetime, cfg.Now)
	_, _ = token.refresh(ctx, secretEvery)
	client, err := slurmclient.New(slurmclient.Config{
		URL: t.URL, Version: cfg.APIVersion, Token: token, TLS: tlsConfig, Timeout: cfg.Timeout, Observer: observer,
	})
	if err != nil {
		return link{}, err
	}
	l := link{client: client, token: token, keep: token.keep}
	if tlsConfig != nil {
		l.changed = func(ctx context.Context) bool {
			wait, cancel := context.WithTimeout(ctx, readTimeout)
			defer cancel()
			now, err := trustOf(wait, cfg.Kube, t)
			return err == nil && !now.equal(read)
		}
	}
	return l, nil
}
