package access

import (
	"context"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// retryInterval is the pause between two attempts to connect, and between two checks of the
// certificates while polls fail.
const retryEvery = time.Minute

// Connection is a session with the cache that polls through it.
type Connection struct {
	Link
	Cache *slurmclient.Cache
}

// KeepConnected reads a cluster until ctx ends: it dials, polls, renews the token, and dials again
// when certificates change. It passes each dial error to failed and retries after a minute. It calls
// use with each connection; use must return when its ctx ends, which is when the connection ends.
// KeepConnected blocks, and all its goroutines have ended when it returns.
func Keep(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Link, error),
	failed func(error), use func(context.Context, Connection),
) {
	for ctx.Err() == nil {
		if err := connect(ctx, cfg, dial, use); err != nil && ctx.Err() == nil {
			failed(err)
			sleep(ctx, retryEvery)
		}
	}
}

// runConnection reads the cluster until ctx ends or the certificates change. It returns an error if
// dialing fails.
func connect(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Link, error),
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
	c := Connection{Link: link, Cache: slurmclient.NewCache(link.Client, cfg)}
	if link.keep != nil {
		wg.Go(func() { link.keep(ctx) })
	}
	wg.Go(func() { c.Cache.Run(ctx) })
	if link.changed != nil {
		wg.Go(func() { c.watchTrust(ctx, cancel) })
	}
	use(ctx, c)
	return nil
}

// watchCertificates ends the connection when the certificates change. It checks them only while polls
// fail, because a working connection needs no other certificates.
func (c Connection) watchTrust(ctx context.Context, end func()) {
	for ctx.Err() == nil {
		sleep(ctx, retryEvery)
		if err := c.Cache.Snapshot().Nodes.Err; err != nil && c.changed(ctx) {
			end()
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
