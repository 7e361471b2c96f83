package slurmclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// DefaultPeriod is the pause between polls of what changes fast.
const DefaultPeriod = 10 * time.Second

// CacheConfig says what a Cache polls and how often. The zero value is good.
type CacheConfig struct {
	// Period is the pause between polls of what changes fast: nodes, jobs, ping and
	// diag, at four times that partitions, reservations, licences and the
	// configuration. 0 means DefaultPeriod.
	Period time.Duration
	// Slow is the pause between polls of shares and slurmdbd's tables. 0 means 5 min.
	Slow time.Duration
	// LookInterval is the pause between looks for new jobs, one cheap request each, of
	// which a hit has jobs polled at once. 0 means that nobody looks between polls.
	LookInterval time.Duration
	// Share is the part of the time that polling one resource may take at the most:
	// where a poll lasts long, the pauses grow. 0 means 0.25.
	Share float64
	// JobsReader is how jobs are read; empty means ReadAuto.
	JobsReader JobsReader
	// Resources are what is polled; nil means those of the function Resources.
	Resources []Resource
	// Progress, if set, is told of polls that take a request for each of many records,
	// of which so many are read: the delta reader's first. It must not block.
	Progress func(r Resource, done, total int)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (cfg CacheConfig) withDefaults() CacheConfig {
	if cfg.Period <= 0 {
		cfg.Period = DefaultPeriod
	}
	if cfg.Slow <= 0 {
		cfg.Slow = max(5*time.Minute, cfg.Period)
	}
	if cfg.Share <= 0 || cfg.Share >= 1 {
		cfg.Share = 0.25
	}
	if cfg.JobsReader == "" {
		cfg.JobsReader = ReadAuto
	}
	if cfg.Progress == nil {
		cfg.Progress = func(Resource, int, int) {}
	}
	if cfg.Resources == nil {
		cfg.Resources = Resources()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return cfg
}

// Cache polls one cluster and keeps its newest Snapshot. Each resource has one
// goroutine and at most one request under way; readers cause no requests, never
// block, and keep being served the last good values while polls fail.
type Cache struct {
	cfg     CacheConfig
	client  *Client
	pollers []*poller

	snapshot atomic.Pointer[Snapshot]

	mu      sync.Mutex // held while publishing
	changed chan struct{}
	stopped chan struct{} // closed when Run has ended
}

// NewCache returns a Cache that has read nothing yet. Run makes it poll.
func NewCache(client *Client, cfg CacheConfig) *Cache {
	c := &Cache{cfg: cfg.withDefaults(), client: client, changed: make(chan struct{}), stopped: make(chan struct{})}
	first := &Snapshot{PublishedAt: c.cfg.Now()}
	for _, p := range first.polls() {
		p.poll.Resource = p.resource
	}
	for _, r := range c.cfg.Resources {
		first.poll(r).Enabled = true
		c.pollers = append(c.pollers, newPoller(c, r))
	}
	c.snapshot.Store(first)
	return c
}

// Run polls until ctx ends, and returns when every poll has ended. It must be
// called once.
func (c *Cache) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, p := range c.pollers {
		wg.Go(func() { p.run(ctx) })
	}
	if p := c.pollerOf(Jobs); p != nil && c.cfg.LookInterval > 0 {
		wg.Go(func() { (&lookout{cache: c, stats: c.client.Stats, jobs: p}).run(ctx) })
	}
	wg.Wait()
	close(c.stopped)
}

// Snapshot returns what the cache holds now. It never blocks and is never nil;
// before the first poll no resource in it is Known.
func (c *Cache) Snapshot() *Snapshot { return c.snapshot.Load() }

// Next waits for a snapshot whose Sequence is greater than after and returns the
// newest one. A caller that remembers the last snapshot it saw, and compares it
// with the next (JobChanges, NodeChanges), misses no difference however slow it is.
func (c *Cache) Next(ctx context.Context, after uint64) (*Snapshot, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if s := c.Snapshot(); s.Sequence > after {
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Refresh waits, for each of the resources, for a poll that began after the call,
// and returns the errors of those that failed. With none it refreshes nodes, jobs
// and partitions. Calls at the same time share one poll. Before Run has begun it waits
// for that; when Run has ended it fails with CodeUnavailable.
func (c *Cache) Refresh(ctx context.Context, resources ...Resource) error {
	if len(resources) == 0 {
		resources = []Resource{Nodes, Jobs, Partitions}
	}
	var waits []func(context.Context) error
	for _, r := range resources {
		if p := c.pollerOf(r); p != nil {
			waits = append(waits, p.ask())
			continue
		}
		waits = append(waits, func(context.Context) error {
			return &Error{Code: CodeInvalid, Op: "refreshing " + string(r), Message: "the cache does not poll this resource"}
		})
	}
	var errs []error
	for _, wait := range waits {
		errs = append(errs, wait(ctx))
	}
	return errors.Join(errs...)
}

func (c *Cache) pollerOf(r Resource) *poller {
	for _, p := range c.pollers {
		if p.resource == r {
			return p
		}
	}
	return nil
}

// publish makes a copy of the snapshot, lets change write to the copy, and shows
// it to the readers.
func (c *Cache) publish(change func(*Snapshot)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := *c.snapshot.Load()
	change(&next)
	next.Sequence++
	next.PublishedAt = c.cfg.Now()
	if v := c.client.Version(); v != "" {
		next.Version = v
	}
	c.snapshot.Store(&next)
	close(c.changed)
	c.changed = make(chan struct{})
}

// reading is what a successful poll brings. A nil set means that nothing changed.
type reading struct {
	set        func(*Snapshot)
	serverTime slurm.Time
	server     slurm.Server
	// rare: how long this poll took says nothing of the next.
	rare bool
	// oldest is when the oldest fact in the value was last known to be right, where that
	// was before the poll began.
	oldest time.Time
	// round is after how many polls every record has been read again, 0 for each poll.
	round int
	// absent is whether the cluster has nothing of the kind, and says so.
	absent bool
	// reader is how jobs were read, empty for other resources.
	reader JobsReader
}
