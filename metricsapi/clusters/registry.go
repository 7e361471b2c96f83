package clusters

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Config says how clusters are read.
type Config struct {
	// Access says how clusters are spoken with.
	Access access.Config
	// Cache is as for slurmclient, of every cluster.
	Cache slurmclient.CacheConfig
	// Pools are what NodeSets do not say themselves.
	Pools metricsapi.PoolDefaults
	// Attach is asked, whenever a connection to a cluster is made, who wants to know;
	// may be nil.
	Attach func(access.Key) Attachment

	// Readings is told of every reading, in order for each cluster, and of clusters that
	// are gone; nil for nobody. It must not block.
	Readings Readings

	// Failed is told when numbers of a cluster could not be computed since something
	// panicked; slurmclient.PanicOf finds the stack. nil for nobody. It must not block.
	Failed func(cluster access.Key, err error)

	// Fixed is the one cluster to read instead of those that are found, nil for none.
	// Connect makes its client then.
	Fixed   *Fixed
	Connect func(slurmclient.Observer) (*slurmclient.Client, slurmclient.TokenSource, error)

	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Readings is told what is read of clusters. Its methods are called from several
// goroutines at once, but not for one cluster.
type Readings interface {
	// See is told what was read of the cluster, and what time it was then.
	See(cluster access.Key, now time.Time, r *metricsapi.Reading)
	// Gone is told that the cluster is not read any more.
	Gone(cluster access.Key)
}

// Attachment is what goes with a connection to a cluster.
type Attachment struct {
	// Observer is told of requests and polls; may be nil.
	Observer slurmclient.Observer
	// Run is called in a goroutine of its own and returns when ctx ends; may be nil.
	Run func(ctx context.Context, to Connected)
}

// Connected is a connection to a cluster.
type Connected struct {
	Cache *slurmclient.Cache
	// Token is what the connection authenticates with, nil for none.
	Token slurmclient.TokenSource
	// Demand computes what a snapshot comes to with the NodeSets that there are now: the
	// same numbers as the cluster's Readings have. It may be called from any goroutine.
	Demand func(now time.Time, s *slurmclient.Snapshot) (demand.Demand, error)
}

// dial makes a client for the target, or that of the fixed cluster.
func (cfg *Config) dial(ctx context.Context, t access.Target, observer slurmclient.Observer) (access.Link, error) {
	if cfg.Fixed == nil {
		return cfg.Access.Dial(ctx, t, observer)
	}
	client, token, err := cfg.Connect(observer)
	return access.Link{Client: client, Token: token}, err
}

func (cfg *Config) attach(k access.Key) Attachment {
	if cfg.Attach == nil {
		return Attachment{}
	}
	return cfg.Attach(k)
}

// Registry reads the clusters that there are. It is a metricsapi.Directory.
type Registry struct {
	cfg   Config
	state atomic.Pointer[state]
	bell  *bell

	mu      sync.Mutex // held by Apply
	running map[access.Key]*cluster
}

// state is what queries see; it is immutable.
type state struct {
	scene
	running map[access.Key]*cluster
}

var _ metricsapi.Directory = (*Registry)(nil)

// New returns a Registry that knows of nothing yet.
func New(cfg Config) *Registry {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{cfg: cfg, bell: newBell(), running: map[access.Key]*cluster{}}
	r.state.Store(&state{})
	return r
}

// Run applies what observe returns whenever changed has something, until ctx ends.
// It returns when every cluster has ended.
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

// Apply starts the clusters that are new, ends those that are gone, and connects
// anew those whose server, token or certificates are others. They run until ctx ends.
func (r *Registry) Apply(ctx context.Context, seen Objects) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := arrange(seen, r.cfg.Fixed, r.cfg.Pools)
	for k, c := range r.running {
		if t, ok := next.targets[k]; !ok || t != c.target {
			c.cancel()
			<-c.done
			delete(r.running, k)
			if !ok && r.cfg.Readings != nil {
				r.cfg.Readings.Gone(k)
			}
		}
	}
	for k, t := range next.targets {
		c := r.running[k]
		if c == nil {
			c = r.start(ctx, k, t)
			r.running[k] = c
		}
		c.setPools(next.pools[k])
	}
	r.state.Store(&state{next, maps.Clone(r.running)})
	r.bell.ring()
}

func (r *Registry) start(ctx context.Context, k access.Key, t access.Target) *cluster {
	ctx, cancel := context.WithCancel(ctx)
	c := &cluster{key: k, target: t, cfg: &r.cfg, bell: r.bell, cancel: cancel, done: make(chan struct{})}
	go c.run(ctx)
	return c
}

// stop ends every cluster.
func (r *Registry) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.running {
		c.cancel()
	}
	for _, c := range r.running {
		<-c.done
	}
}

// Settled returns nil once objects were applied and each cluster was read or has
// failed to be at least once: one Slurm that is down must not take the metrics of
// the others away.
func (r *Registry) Settled() error {
	s := r.state.Load()
	if s.targets == nil {
		return errNotListed
	}
	for k, c := range s.running {
		if !c.settled() {
			return fmt.Errorf("the Slurm cluster %s has not been read yet", k)
		}
	}
	return nil
}
