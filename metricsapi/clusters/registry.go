package clusters

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Config configures a Registry.
type Config struct {
	// Access configures the connections to clusters.
	Access access.Config
	// Cache configures the slurmclient cache of every cluster.
	Cache slurmclient.CacheConfig
	// Pools are the defaults for NodeSets.
	Pools metricsapi.PoolDefaults
	// Attach is called for every new connection to a cluster and returns what to attach to it.
	// It may be nil.
	Attach func(refs.ClusterKey) Attachment

	// Observers are notified of every reading, in order for each cluster, and of removed
	// clusters. They must not block.
	Observers []ReadingObserver

	// OnPanic is called when computing the numbers of a cluster panicked; slurmclient.PanicOf
	// returns the stack. It may be nil and must not block.
	OnPanic func(cluster refs.ClusterKey, err error)

	// Fixed is the only cluster to read, instead of discovered clusters; nil for none. Connect
	// returns its client.
	Fixed   *FixedCluster
	Connect func(slurmclient.Observer) (*slurmclient.Client, slurmclient.TokenSource, error)

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// ReadingObserver is notified of readings. Its methods are called concurrently for different
// clusters, but sequentially for each cluster.
type ReadingObserver interface {
	// ObserveReading is called with a reading of the cluster and the time at which it was
	// computed.
	ObserveReading(cluster refs.ClusterKey, now time.Time, r *metricsapi.Reading)
	// ForgetCluster is called when the cluster is no longer read.
	ForgetCluster(cluster refs.ClusterKey)
}

// Attachment is a user of a connection to a cluster.
type Attachment struct {
	// Observer is notified of requests and polls; it may be nil.
	Observer slurmclient.Observer
	// Run is called in its own goroutine and must return when ctx ends; it may be nil.
	Run func(ctx context.Context, to Connected)
}

// Connected is a connection to a cluster.
type Connected struct {
	Cache *slurmclient.Cache
	// Token is the source of the connection's token, nil for none.
	Token slurmclient.TokenSource
	// Demand computes the demand of a snapshot with the current NodeSets, with the same result
	// as the cluster's readings. It may be called from any goroutine. It returns an error when the connection ends.
	Demand func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
}

// dial returns a client for the target, or the client of the fixed cluster.
func (cfg *Config) dial(
	ctx context.Context, t refs.Endpoint, observer slurmclient.Observer,
) (access.Session, error) {
	if cfg.Fixed == nil {
		return cfg.Access.Dial(ctx, t, observer)
	}
	client, token, err := cfg.Connect(observer)
	return access.Session{Client: client, Token: token}, err
}

func (cfg *Config) attachmentOf(k refs.ClusterKey) Attachment {
	if cfg.Attach == nil {
		return Attachment{}
	}
	return cfg.Attach(k)
}

// Registry reads all clusters. It implements metricsapi.Directory.
type Registry struct {
	cfg      Config
	state    atomic.Pointer[state]
	notifier *notifier

	mu       sync.Mutex // held by Apply
	clusters map[refs.ClusterKey]*cluster
	// ending are the removed clusters that have not stopped yet, such as a cluster whose demand is being computed.
	ending map[refs.ClusterKey]*cluster
}

// state is the data that queries read. It is immutable.
type state struct {
	inventory
	clusters map[refs.ClusterKey]*cluster
}

var _ metricsapi.Directory = (*Registry)(nil)

// New returns a Registry without clusters.
func New(cfg Config) *Registry {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{cfg: cfg, notifier: newNotifier(), clusters: map[refs.ClusterKey]*cluster{},
		ending: map[refs.ClusterKey]*cluster{}}
	r.state.Store(&state{})
	return r
}

// Run applies the result of observe whenever changed receives, until ctx ends. It returns when
// every cluster has stopped.
func (r *Registry) Run(ctx context.Context, changed <-chan struct{}, observe func() Objects) {
	defer r.stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			r.Apply(ctx, observe())
		}
	}
}

// forgetCluster notifies the observers that a cluster is gone.
func (r *Registry) forgetCluster(k refs.ClusterKey) {
	for _, o := range r.cfg.Observers {
		o.ForgetCluster(k)
	}
}

// Apply starts new clusters, stops removed ones, and reconnects clusters whose server, token or certificates have changed. It waits for
// none of them: a cluster that stops slowly delays only its own successor. Clusters run until ctx ends.
func (r *Registry) Apply(ctx context.Context, objects Objects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := planInventory(objects, r.cfg.Fixed, r.cfg.Pools)
	for k, c := range r.clusters {
		if t, ok := next.targets[k]; !ok || t != c.target {
			r.endCluster(k, c)
		}
	}
	for k, t := range next.targets {
		c := r.clusters[k]
		if c == nil {
			c = r.startCluster(ctx, k, t)
			r.clusters[k] = c
		}
		c.setPools(next.pools[k])
	}
	r.state.Store(&state{next, maps.Clone(r.clusters)})
	r.notifier.notify()
}

// startCluster starts a cluster, once its predecessor with the same key has stopped: both have the same observers.
func (r *Registry) startCluster(ctx context.Context, k refs.ClusterKey, t refs.Endpoint) *cluster {
	ctx, cancel := context.WithCancel(ctx)
	c := &cluster{key: k, target: t, cfg: &r.cfg, notifier: r.notifier, cancel: cancel, done: make(chan struct{})}
	former := r.ending[k]
	go func() {
		if former != nil {
			<-former.done
		}
		c.run(ctx)
	}()
	return c
}

// endCluster lets a cluster stop. Once the last one with its key has, and no other one has begun, its observers forget the key.
func (r *Registry) endCluster(k refs.ClusterKey, c *cluster) {
	c.cancel()
	delete(r.clusters, k)
	r.ending[k] = c
	go func() {
		<-c.done
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ending[k] != c {
			return
		}
		delete(r.ending, k)
		if r.clusters[k] == nil {
			r.forgetCluster(k)
		}
	}()
}

// stop stops every cluster and waits for them.
func (r *Registry) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clusters {
		c.cancel()
	}
	for _, all := range []map[refs.ClusterKey]*cluster{r.clusters, r.ending} {
		for _, c := range all {
			<-c.done
		}
	}
}

// Settled returns nil once objects were applied and reading each cluster has succeeded or failed
// at least once. A Slurm cluster that is down must not block the metrics of the others.
func (r *Registry) Settled() error {
	s := r.state.Load()
	if s.targets == nil {
		return errNotListed
	}
	for k, c := range s.clusters {
		if !c.settled() {
			return fmt.Errorf("the Slurm cluster %s has not been read yet", k)
		}
	}
	return nil
}
