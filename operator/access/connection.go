package access

import (
	"context"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// retryInterval is the pause between two attempts to connect, and between two checks of the
// certificates while polls fail.
const retryInterval = time.Minute

// Connection is a session with the cache that polls through it.
type Connection struct {
	Session
	Cache *slurmclient.Cache
}

// KeepConnected reads a cluster until ctx ends: it dials, polls, renews the token, and dials again
// when certificates change. It passes each dial error to failed and retries after a minute. It calls
// use with each connection; use must return when its ctx ends, which is when the connection ends.
// KeepConnected blocks, and all its goroutines have ended when it returns.
func KeepConnected(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Session, error),
	failed func(error), use func(context.Context, Connection),
) {
	for ctx.Err() == nil {
		if err := runConnection(ctx, cfg, dial, use); err != nil && ctx.Err() == nil {
			failed(err)
			sleepFor(ctx, retryInterval)
		}
	}
}

// runConnection reads the cluster until ctx ends or the certificates change. It returns an error if
// dialing fails.
func runConnection(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Session, error),
	use func(context.Context, Connection),
) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	link, err := dial(ctx)
	if err != nil {
		return err
	}
	defer link.Client.Close()
	c := Connection{Session: link, Cache: slurmclient.NewCache(link.Client, cfg)}
	if link.keepToken != nil {
		wg.Go(func() { link.keepToken(ctx) })
	}
	wg.Go(func() { c.Cache.Run(ctx) })
	if link.certificatesChanged != nil {
		wg.Go(func() { c.watchCertificates(ctx, cancel) })
	}
	use(ctx, c)
	return nil
}

// watchCertificates ends the connection when the certificates change. It checks them only while polls fail,
// because a working connection needs no new certificates.
func (c Connection) watchCertificates(ctx context.Context, end func()) {
	for ctx.Err() == nil {
		sleepFor(ctx, retryInterval)
		if err := c.Cache.Snapshot().Nodes.Err; err != nil && c.certificatesChanged(ctx) {
			end()
			return
		}
	}
}

func sleepFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
