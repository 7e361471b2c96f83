package clusters

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// retryEvery is the pause before connecting is tried again, and the time between
// looks at certificates while polls fail.
const retryEvery = time.Minute

// cluster is a Slurm cluster that is being read. It implements metricsapi.Cluster.
type cluster struct {
	key    Key
	target Target
	cfg    *Config

	cancel context.CancelFunc
	done   chan struct{}

	reading atomic.Pointer[metricsapi.Reading]
	// problem is why there is no connection.
	problem atomic.Pointer[error]

	mu    sync.Mutex
	pools []demand.Pool
	wake  context.CancelFunc // ends the wait for a snapshot
}

var _ metricsapi.Cluster = (*cluster)(nil)

// Name implements metricsapi.Cluster.
func (c *cluster) Name() string { return c.key.Name }

// String implements metricsapi.Cluster.
func (c *cluster) String() string { return c.key.String() }

// Reading implements metricsapi.Cluster.
func (c *cluster) Reading() (*metricsapi.Reading, error) {
	if r := c.reading.Load(); r != nil {
		return r, nil
	}
	if p := c.problem.Load(); p != nil {
		return nil, *p
	}
	return nil, errNothingRead
}

var errNothingRead = errors.New("nothing has been read yet")

// settled reports whether the cluster was read, or has failed to be, at least once.
func (c *cluster) settled() bool {
	r := c.reading.Load()
	return c.problem.Load() != nil || r != nil && r.Settled()
}

// setPools changes what is computed from now on. The list is not written to.
func (c *cluster) setPools(pools []demand.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools = pools
	if c.wake != nil {
		c.wake()
	}
}

func (c *cluster) fail(err error) { c.problem.Store(&err) }

// run reads the cluster until ctx ends.
func (c *cluster) run(ctx context.Context) {
	defer close(c.done)
	if c.target.Problem != "" {
		c.fail(errors.New(c.target.Problem))
		return
	}
	for ctx.Err() == nil {
		if err := c.connect(ctx); err != nil && ctx.Err() == nil {
			c.fail(err)
			sleep(ctx, retryEvery)
		}
	}
}

// connect reads the cluster until ctx ends or other certificates are to be used.
// It returns an error when there is no way to connect.
func (c *cluster) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	attached := c.cfg.attach(c.key)
	link, err := c.cfg.dial(ctx, c.target, attached.Observer)
	if err != nil {
		return err
	}
	defer link.client.Close()
	cache := slurmclient.NewCache(link.client, c.cfg.Cache)
	if link.keep != nil {
		wg.Go(func() { link.keep(ctx) })
	}
	wg.Go(func() { cache.Run(ctx) })
	if attached.Run != nil {
		wg.Go(func() { attached.Run(ctx, cache, link.token) })
	}
	if link.changed != nil {
		wg.Go(func() { c.watchTrust(ctx, cache, link.changed, cancel) })
	}
	c.read(ctx, cache)
	return nil
}

// read makes a reading of every snapshot until ctx ends.
func (c *cluster) read(ctx context.Context, cache *slurmclient.Cache) {
	var reader metricsapi.Reader
	var after uint64
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, metricsapi.ComputeEvery)
		pools := c.arm(cancel)
		s := cache.Snapshot()
		r := reader.Read(c.cfg.Now(), s, pools)
		// A new connection has nothing to tell until it has read, while what the last
		// one has read grows old by itself.
		if old := c.reading.Load(); old == nil || !old.Known() || r.Known() {
			c.reading.Store(r)
		}
		after = s.Sequence
		_, _ = cache.Next(wait, after)
		cancel()
	}
}

// arm returns the pools, and has wake end the wait for the next snapshot when
// they change.
func (c *cluster) arm(wake context.CancelFunc) []demand.Pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = wake
	return c.pools
}

// watchTrust ends the connection when certificates have changed. It looks only
// while polls fail, since what works needs no other certificates.
func (c *cluster) watchTrust(ctx context.Context, cache *slurmclient.Cache, changed func(context.Context) bool, end func()) {
	for ctx.Err() == nil {
		sleep(ctx, retryEvery)
		if err := cache.Snapshot().Nodes.Err; err != nil && changed(ctx) {
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
