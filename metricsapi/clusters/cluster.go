package clusters

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
)

// cluster polls one Slurm cluster. It implements metricsapi.Cluster.
type cluster struct {
	key      refs.ClusterKey
	target   refs.Endpoint
	cfg      *Config
	notifier *notifier // notified of every reading

	cancel context.CancelFunc
	done   chan struct{}

	reading atomic.Pointer[metricsapi.Reading]
	// connectionError is why there is no connection.
	connectionError atomic.Pointer[error]

	// client is the client of the connection, nil without one.
	client atomic.Pointer[slurmclient.Client]

	mu      sync.Mutex
	pools   []demand.Pool
	endWait context.CancelFunc // ends the wait for the next snapshot
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
	if p := c.connectionError.Load(); p != nil {
		return nil, *p
	}
	return nil, errNothingRead
}

var errNothingRead = errors.New("nothing has been read yet")

// settled reports whether reading the cluster has succeeded or failed at least once.
func (c *cluster) settled() bool {
	r := c.reading.Load()
	return c.connectionError.Load() != nil || r != nil && r.Settled()
}

// setPools sets the pools of subsequent readings. It does not write to the list.
func (c *cluster) setPools(pools []demand.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools = pools
	if c.endWait != nil {
		c.endWait()
	}
}

func (c *cluster) setConnectionError(err error) { c.connectionError.Store(&err) }

// run connects to the cluster and reads it until ctx ends.
func (c *cluster) run(ctx context.Context) {
	defer close(c.done)
	if c.target.Problem != "" {
		c.setConnectionError(errors.New(c.target.Problem))
		return
	}
	var attached Attachment
	dial := func(ctx context.Context) (access.Session, error) {
		attached = c.cfg.attachmentOf(c.key)
		return c.cfg.dial(ctx, c.target, attached.Observer)
	}
	access.KeepConnected(ctx, c.cfg.Cache, dial, c.setConnectionError,
		func(ctx context.Context, conn access.Connection) {
			var wg sync.WaitGroup
			defer wg.Wait()
			c.client.Store(conn.Client)
			defer c.client.Store(nil)
			reader := new(metricsapi.Reader)
			if attached.Run != nil {
				numbers := func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error) {
					r, err := reader.ReadContext(ctx, now, s, c.currentPools())
					if err != nil {
						return demand.Demand{}, err
					}
					return r.Demand()
				}
				wg.Go(func() { attached.Run(ctx, Connected{conn.Cache, conn.Token, numbers}) })
			}
			c.read(ctx, conn.Cache, reader)
		})
}

// read computes a reading of every snapshot until ctx ends.
func (c *cluster) read(ctx context.Context, cache *slurmclient.Cache, reader *metricsapi.Reader) {
	var after uint64
	var failed error
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, memo.MaxAge)
		pools := c.beginWait(cancel)
		s := cache.Snapshot()
		now := c.cfg.Now()
		r, err := reader.ReadContext(ctx, now, s, pools)
		if err != nil { // ctx has ended
			cancel()
			return
		}
		if err := r.Err(); err != nil && !errors.Is(failed, err) && c.cfg.OnPanic != nil {
			c.cfg.OnPanic(c.key, err)
		}
		failed = r.Err()
		// A new connection has no data at first. Until it has, the last reading stays and ages.
		if old := c.reading.Load(); old == nil || !old.Known() || r.Known() || r.Err() != nil {
			c.reading.Store(r)
			for _, o := range c.cfg.Observers {
				o.ObserveReading(c.key, now, r)
			}
			c.notifier.notify()
		}
		after = s.Sequence
		_, _ = cache.Next(wait, after)
		cancel()
	}
}

func (c *cluster) currentPools() []demand.Pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pools
}

// beginWait returns the current pools. When they change, wake is called to end the wait for
// the next snapshot.
func (c *cluster) beginWait(wake context.CancelFunc) []demand.Pool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endWait = wake
	return c.pools
}
