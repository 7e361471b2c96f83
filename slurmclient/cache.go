package slurmclient

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// DefaultPeriod is the default pause between polls of resources that change often.
const DefaultPeriod = 10 * time.Second

// CacheConfig sets which resources a Cache polls, and how often. The zero value is usable.
type CacheConfig struct {
	// Period is the pause between polls of nodes, jobs, ping and diag. Partitions,
	// reservations, licences and the configuration are polled at four times this period, or
	// at Slow if that is shorter. 0 means DefaultPeriod.
	Period time.Duration
	// Slow is the pause between polls of shares and slurmdbd's tables. 0 means 5 min, or
	// Period if that is longer.
	Slow time.Duration
	// NewJobsInterval is the pause between checks for new or changed jobs. A check is one
	// cheap request to diag; if it finds any, nodes and jobs are polled at once. 0 disables the checks.
	NewJobsInterval time.Duration
	// Share is the largest fraction of time that polling one resource may take. The pauses
	// grow when polls take long. 0 means 0.25.
	Share float64
	// JobsReader selects how jobs are read; empty means ReadAuto.
	JobsReader JobsReader
	// Resources lists the resources to poll; nil polls all that the function Resources returns.
	Resources []Resource
	// Progress, if set, is called during polls that request many records one by one, such as
	// the first poll of a delta reader: done of total records have been read. It must not
	// block.
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

// Cache polls one cluster and keeps its newest Snapshot. Each resource has one goroutine and at
// most one request in flight. Readers cause no requests and never block. While polls fail, they
// get the last good values.
type Cache struct {
	cfg     CacheConfig
	client  *Client
	pollers []*poller

	snapshot atomic.Pointer[Snapshot]
	server   atomic.Uint64 // the number of the server whose data is being read
	probe    chan struct{} // has an element while a poll asks a server that did not answer

	unknownQOS unknownQOS // of the poller of jobs

	mu      sync.Mutex // held while publishing
	changed chan struct{}
	stopped chan struct{} // closed when Run has ended
}

// NewCache returns a Cache that has read nothing yet. Run starts polling.
func NewCache(client *Client, cfg CacheConfig) *Cache {
	c := &Cache{cfg: cfg.withDefaults(), client: client, probe: make(chan struct{}, 1),
		changed: make(chan struct{}), stopped: make(chan struct{})}
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

// Run polls until ctx ends and returns when every poll has ended. Call it only once.
func (c *Cache) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, p := range c.pollers {
		wg.Go(func() { p.run(ctx) })
	}
	if p := c.pollerOf(Jobs); p != nil && c.cfg.NewJobsInterval > 0 {
		wg.Go(func() { (&newJobsChecker{cache: c, stats: c.client.Stats, jobs: p, nodes: c.pollerOf(Nodes)}).run(ctx) })
	}
	wg.Wait()
	close(c.stopped)
}

// Snapshot returns the current content of the cache. It never blocks and never returns nil. Before
// the first poll, no resource in it is Known.
func (c *Cache) Snapshot() *Snapshot { return c.snapshot.Load() }

// Next waits for a snapshot whose Sequence is greater than after and returns the newest one. A
// caller that compares the last snapshot it received with the next one (JobChanges)
// misses no difference, however slow it is.
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

// Refresh waits, for each of the resources, for a poll that begins after the call, and returns the
// errors of the polls that failed. Without resources it refreshes nodes, jobs and partitions.
// Concurrent calls share one poll. Refresh waits if Run has not been called yet, and fails with
// CodeUnavailable after Run has ended.
func (c *Cache) Refresh(ctx context.Context, resources ...Resource) error {
	if len(resources) == 0 {
		resources = []Resource{Nodes, Jobs, Partitions}
	}
	var waits []func(context.Context) error
	for _, r := range resources {
		if p := c.pollerOf(r); p != nil {
			waits = append(waits, p.requestPoll())
			continue
		}
		waits = append(waits, func(context.Context) error {
			return &Error{Code: CodeInvalid, Op: "refreshing " + string(r),
				Message: "the cache does not poll this resource"}
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

// publish copies the snapshot, lets change modify the copy, and makes the copy visible to readers.
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

// reading is the result of a successful poll. update is nil if nothing changed.
type reading struct {
	update     func(*Snapshot)
	serverTime slurm.Time
	server     slurm.Server
	// exceptional marks a poll whose duration does not predict the duration of the next one.
	exceptional bool
	// catchUp is how long the poll read records that were in doubt.
	catchUp time.Duration
	// oldest is when the oldest fact in the value was last known to be right. Zero means when
	// the poll began.
	oldest time.Time
	// round is the number of polls until every record has been read again. 0 means that each poll reads everything.
	round int
	// absent is whether the cluster reports that it lacks the resource.
	absent bool
	// reader is the reader that read the jobs, empty for other resources.
	reader JobsReader
}
