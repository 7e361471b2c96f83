package live

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Config says how Slurm clusters are kept.
type Config struct {
	// Access says how they are spoken with.
	Access access.Config
	// Cache is as for slurmclient; what is polled is set here: nodes, FUTURE ones
	// too, jobs, pings, partitions and reservations.
	Cache slurmclient.CacheConfig
	// Scontrol does what the API of older servers cannot; nil for nobody.
	Scontrol Scontrol
	// Observer is told of the requests and polls of a cluster; may be nil, as may be
	// what it returns.
	Observer func(access.Key) slurmclient.Observer
}

// Clients are the Slurm clusters that there are. Its methods may be called from any
// number of goroutines.
type Clients struct {
	cfg Config

	mu  sync.Mutex
	all map[access.Key]*Slurm
	// begin starts reading; nil before Start and after its end.
	begin     func(*Slurm)
	listeners map[int]func(access.Key)
	listened  int // how many there ever were
}

// New returns Clients that know of nothing. Start makes them read.
func New(cfg Config) *Clients {
	cfg.Cache.Resources = []slurmclient.Resource{
		slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations,
	}
	return &Clients{cfg: cfg, all: map[access.Key]*Slurm{}, listeners: map[int]func(access.Key){}}
}

// Start reads the clusters, those that are there and those to come, until ctx ends, and
// returns when nothing of them runs any more. It implements manager.Runnable.
func (c *Clients) Start(ctx context.Context) error {
	var wg sync.WaitGroup
	c.mu.Lock()
	c.begin = func(s *Slurm) {
		ctx, cancel := context.WithCancel(ctx)
		s.cancel = cancel
		wg.Go(func() { s.run(ctx) })
	}
	for _, s := range c.all {
		c.begin(s)
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.begin = nil
	c.mu.Unlock()
	wg.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: who does not lead
// asks Slurm for nothing.
func (c *Clients) NeedLeaderElection() bool { return true }

// Set says where the Slurm of an object is. If that is somewhere else than before, or
// opened otherwise, what was read of it is forgotten and read anew.
func (c *Clients) Set(k access.Key, t access.Target) {
	if c.replace(k, &t) {
		c.tell(k)
	}
}

// Remove ends the Slurm of an object that is gone.
func (c *Clients) Remove(k access.Key) {
	if c.replace(k, nil) {
		c.tell(k)
	}
}

// replace ends the Slurm of a key unless the target is as before, and begins the one of
// the target, nil for none. It reports whether anything has changed.
func (c *Clients) replace(k access.Key, t *access.Target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.all[k]
	if old == nil && t == nil || old != nil && t != nil && old.target == *t {
		return false
	}
	delete(c.all, k)
	if old != nil {
		old.cancel()
	}
	if t == nil {
		return true
	}
	s := newSlurm(k, *t, &c.cfg, c.tell)
	c.all[k] = s
	if c.begin != nil {
		c.begin(s)
	}
	return true
}

// For returns the Slurm of an object, nil when there is no such object or it was not
// seen yet. The next call may return another one.
func (c *Clients) For(k access.Key) *Slurm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[k]
}

// Keys lists the objects, sorted.
func (c *Clients) Keys() []access.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.all), access.Key.Compare)
}

// Changed is a source for reconcilers that look at Slurm. For each new reading of nodes or
// jobs of a cluster, when its problem changes, and when it comes or goes, it adds what
// requests returns for its object; requests must not block.
func (c *Clients) Changed(requests func(ctx context.Context, k access.Key) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		stop := c.listen(func(k access.Key) {
			for _, r := range requests(ctx, k) {
				queue.Add(r)
			}
		})
		context.AfterFunc(ctx, stop)
		return nil
	})
}

// listen has news told to a function until stop is called.
func (c *Clients) listen(to func(access.Key)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.listened
	c.listened++
	c.listeners[id] = to
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

// tell must not be called with the lock held.
func (c *Clients) tell(k access.Key) {
	c.mu.Lock()
	listeners := slices.Collect(maps.Values(c.listeners))
	c.mu.Unlock()
	for _, to := range listeners {
		to(k)
	}
}
