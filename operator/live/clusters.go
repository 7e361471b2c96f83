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
	Observer func(access.ClusterKey) slurmclient.Observer
}

// Clusters are the Slurm clusters that there are. Its methods may be called from any
// number of goroutines.
type Clusters struct {
	cfg Config

	mu       sync.Mutex
	clusters map[access.ClusterKey]*Cluster
	// startCluster starts reading; nil before Start and after its end.
	startCluster   func(*Cluster)
	listeners      map[int]func(access.ClusterKey)
	nextListenerID int // how many there ever were
}

// New returns Clients that know of nothing. Start makes them read.
func New(cfg Config) *Clusters {
	cfg.Cache.Resources = []slurmclient.Resource{
		slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations,
	}
	return &Clusters{cfg: cfg, clusters: map[access.ClusterKey]*Cluster{}, listeners: map[int]func(access.ClusterKey){}}
}

// Start reads the clusters, those that are there and those to come, until ctx ends, and
// returns when nothing of them runs any more. It implements manager.Runnable.
func (c *Clusters) Start(ctx context.Context) error {
	var wg sync.WaitGroup
	c.mu.Lock()
	c.startCluster = func(s *Cluster) {
		ctx, cancel := context.WithCancel(ctx)
		s.cancel = cancel
		wg.Go(func() { s.run(ctx) })
	}
	for _, s := range c.clusters {
		c.startCluster(s)
	}
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	c.startCluster = nil
	c.mu.Unlock()
	wg.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: who does not lead
// asks Slurm for nothing.
func (c *Clusters) NeedLeaderElection() bool { return true }

// Set says where the Slurm of an object is. If that is somewhere else than before, or
// opened otherwise, what was read of it is forgotten and read anew.
func (c *Clusters) Set(k access.ClusterKey, t access.Endpoint) {
	if c.replaceCluster(k, &t) {
		c.notify(k)
	}
}

// Remove ends the Slurm of an object that is gone.
func (c *Clusters) Remove(k access.ClusterKey) {
	if c.replaceCluster(k, nil) {
		c.notify(k)
	}
}

// replaceCluster ends the Slurm of a key unless the target is as before, and begins the one of
// the target, nil for none. It reports whether anything has changed.
func (c *Clusters) replaceCluster(k access.ClusterKey, t *access.Endpoint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.clusters[k]
	if old == nil && t == nil || old != nil && t != nil && old.endpoint == *t {
		return false
	}
	delete(c.clusters, k)
	if old != nil {
		old.cancel()
	}
	if t == nil {
		return true
	}
	s := newCluster(k, *t, &c.cfg, c.notify)
	c.clusters[k] = s
	if c.startCluster != nil {
		c.startCluster(s)
	}
	return true
}

// For returns the Slurm of an object, nil when there is no such object or it was not
// seen yet. The next call may return another one.
func (c *Clusters) For(k access.ClusterKey) *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clusters[k]
}

// Keys lists the objects, sorted.
func (c *Clusters) Keys() []access.ClusterKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.clusters), access.ClusterKey.Compare)
}

// ChangeSource is a source for reconcilers that look at Slurm. For each new reading of nodes or
// jobs of a cluster, when its problem changes, and when it comes or goes, it adds what
// requests returns for its object; requests must not block.
func (c *Clusters) ChangeSource(requests func(ctx context.Context, k access.ClusterKey) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		stop := c.subscribe(func(k access.ClusterKey) {
			for _, r := range requests(ctx, k) {
				queue.Add(r)
			}
		})
		context.AfterFunc(ctx, stop)
		return nil
	})
}

// subscribe has news told to a function until stop is called.
func (c *Clusters) subscribe(to func(access.ClusterKey)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.nextListenerID
	c.nextListenerID++
	c.listeners[id] = to
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

// notify must not be called with the lock held.
func (c *Clusters) notify(k access.ClusterKey) {
	c.mu.Lock()
	listeners := slices.Collect(maps.Values(c.listeners))
	c.mu.Unlock()
	for _, to := range listeners {
		to(k)
	}
}
