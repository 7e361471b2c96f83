package access

import (
	"context"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// retryEvery is the pause before connecting is tried again, and the time between
// looks at certificates while polls fail.
const retryEvery = time.Minute

// Connection is a link and the cache of what is read through it.
type Connection struct {
	Link
	Cache *slurmclient.Cache
}

// Keep reads a cluster until ctx ends: it dials, polls, renews the token, and dials
// anew when certificates have changed. What fails to dial is told to failed, and tried
// again after a while. use is called with each connection and returns when its ctx
// ends, which is when the connection does. Nothing of it runs on after Keep.
func Keep(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Link, error), failed func(error), use func(context.Context, Connection)) {
	for ctx.Err() == nil {
		if err := connect(ctx, cfg, dial, use); err != nil && ctx.Err() == nil {
			failed(err)
			sleep(ctx, retryEvery)
		}
	}
}

// connect reads the cluster until ctx ends or other certificates are to be used.
// It returns an error when there is no way to connect.
func connect(ctx context.Context, cfg slurmclient.CacheConfig, dial func(context.Context) (Link, error), use func(context.Context, Connection)) error {
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

// watchTrust ends the connection when certificates have changed. It looks only
// while polls fail, since what works needs no other certificates.
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
