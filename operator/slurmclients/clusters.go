package slurmclients

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Config configures Clusters.
type Config struct {
	// Access configures the connections.
	Access access.Config
	// Cache configures the cache of each cluster. New sets its Resources: nodes (including those
	// in state FUTURE), jobs, pings, partitions and reservations.
	Cache slurmclient.CacheConfig
	// Scontrol does the writes that the API of older servers lacks. If it is nil, such writes fail.
	Scontrol Scontrol
	// Observer returns the observer of the requests and polls of a cluster. Both the function and
	// its result may be nil.
	Observer func(refs.ClusterKey) slurmclient.Observer
}

// Clusters are the Slurm clusters of all Controllers and Clusters. The methods are safe for
// concurrent use.
type Clusters struct {
	cfg Config

	mu       sync.Mutex
	clusters map[refs.ClusterKey]*Cluster
	// startCluster starts reading a cluster. It is nil before Start and after its end.
	startCluster   func(*Cluster)
	listeners      map[int]func(refs.ClusterKey)
	nextListenerID int
}

// New returns Clusters without any cluster. Set adds one; Start reads them.
func New(cfg Config) *Clusters {
	cfg.Cache.Resources = []slurmclient.Resource{
		slurmclient.Pings, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations,
	}
	return &Clusters{cfg: cfg, clusters: map[refs.ClusterKey]*Cluster{}, listeners: map[int]func(refs.ClusterKey){}}
}

// Start reads all clusters, including those added later, until ctx ends. It returns when all their
// goroutines have ended. It implements manager.Runnable.
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

// NeedLeaderElection implements manager.LeaderElectionRunnable: replicas that do not lead send no
// requests to Slurm.
func (c *Clusters) NeedLeaderElection() bool { return true }

// Set sets the endpoint of the Slurm cluster of an object. If the endpoint differs from the
// previous one, the last reading is dropped and the cluster is read again.
func (c *Clusters) Set(k refs.ClusterKey, t refs.Endpoint) {
	if c.replaceCluster(k, &t) {
		c.notify(k)
	}
}

// Remove stops the cluster of an object that was deleted.
func (c *Clusters) Remove(k refs.ClusterKey) {
	if c.replaceCluster(k, nil) {
		c.notify(k)
	}
}

// replaceCluster stops the cluster of a key unless the endpoint is unchanged, and starts one with the given
// endpoint unless that is nil. It reports whether it changed anything.
func (c *Clusters) replaceCluster(k refs.ClusterKey, t *refs.Endpoint) bool {
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

// For returns the cluster of an object, or nil if the object does not exist or was not observed yet. A later
// call may return another one.
func (c *Clusters) For(k refs.ClusterKey) *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clusters[k]
}

// Keys lists the objects, sorted.
func (c *Clusters) Keys() []refs.ClusterKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.clusters), refs.ClusterKey.Compare)
}

// ChangeSource returns a source for reconcilers that depend on Slurm. For each new reading of a cluster, when
// its problem changes, and when it is added or removed, the source enqueues the requests that requests
// returns for its object. requests must not block.
func (c *Clusters) ChangeSource(
	requests func(ctx context.Context, k refs.ClusterKey) []reconcile.Request) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		stop := c.subscribe(func(k refs.ClusterKey) {
			for _, r := range requests(ctx, k) {
				queue.Add(r)
			}
		})
		context.AfterFunc(ctx, stop)
		return nil
	})
}

// subscribe calls a function for every change of a cluster until stop is called.
func (c *Clusters) subscribe(listener func(refs.ClusterKey)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.nextListenerID
	c.nextListenerID++
	c.listeners[id] = listener
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, id)
	}
}

// notify must not be called with the lock held.
func (c *Clusters) notify(k refs.ClusterKey) {
	c.mu.Lock()
	listeners := slices.Collect(maps.Values(c.listeners))
	c.mu.Unlock()
	for _, listener := range listeners {
		listener(k)
	}
}
