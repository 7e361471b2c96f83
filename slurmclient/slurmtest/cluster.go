package slurmtest

import (
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Cluster is a simulated Slurm cluster. Its methods and its Handler may be used
// by any number of goroutines.
type Cluster struct {
	cfg Config
	*server

	mu sync.Mutex
	// now is the model's time; it moves only in Step and SetClock.
	now slurm.Time
	// gen counts the answers begun; see shared.
	gen uint64

	nodes      []*node
	nodeByName map[string]*node
	partitions []*partition
	licenses   []*license
	resvs      []*reservation
	users      map[string]UserConf

	jobs    []*job // in slurmctld's order
	jobByID map[uint32]*job
	arrays  map[uint32]*array
	lastID  uint32
	queue   queue
	running usage
	// used is what users used, in CPU seconds.
	used map[string]uint64

	// changed is when each kind of record last changed, for update_time.
	changed   changes
	events    events
	stats     stats
	flagTexts map[jobFlags]string
	dirty     bool // the scheduler has something to look at
	down      ControllerState
	// late is what a hung slurmctld was asked to do.
	late []func()
	// dependents are the jobs that wait for others.
	dependents []*job
	// life keeps a living cluster busy; nil for others.
	life *life
}

type changes struct{ nodes, jobs, partitions, reservations slurm.Time }

// New returns a cluster at the time of cfg.Now, with all its nodes up.
func New(cfg Config) *Cluster {
	cfg = cfg.withDefaults()
	c := &Cluster{
		cfg: cfg, now: slurm.At(cfg.Now()), gen: 1,
		nodeByName: map[string]*node{}, users: map[string]UserConf{},
		jobByID: map[uint32]*job{}, arrays: map[uint32]*array{},
		running: usage{}, used: map[string]uint64{}, flagTexts: map[jobFlags]string{},
	}
	c.changed = changes{c.now, c.now, c.now, c.now}
	c.stats.since = c.now
	for _, u := range cfg.Users {
		c.users[u.Name] = u
	}
	for _, l := range cfg.Licenses {
		c.licenses = append(c.licenses, &license{LicenseConf: l})
	}
	for _, p := range cfg.Partitions {
		c.partitions = append(c.partitions, newPartition(p))
	}
	for _, n := range cfg.Nodes {
		c.addNodes(n)
	}
	c.server = newServer(cfg)
	return c
}

// Now returns the model's time.
func (c *Cluster) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Time()
}

// SetClock sets the model's time without anything happening in between, as when
// the server's clock jumps. It may go back.
func (c *Cluster) SetClock(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = slurm.At(t)
}

// Restart is what a restart of slurmctld does: its counters begin anew, and
// everything counts as changed.
func (c *Cluster) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats = stats{since: c.now, purged: c.stats.purged}
	c.rpcs.reset()
	c.changed = changes{c.now, c.now, c.now, c.now}
	c.dirty = true
}

// ColdStart is a restart of slurmctld that lost its state (slurmctld -c): jobs and
// reservations are gone and job ids begin at 1.
func (c *Cluster) ColdStart() {
	c.mu.Lock()
	for _, j := range c.jobs {
		for _, g := range j.grants {
			g.free(j)
			c.touchNode(g.node)
		}
		j.grants, j.gone = nil, true
	}
	c.jobs, c.jobByID, c.arrays, c.lastID = nil, map[uint32]*job{}, map[uint32]*array{}, 0
	c.queue, c.dependents, c.running = queue{}, nil, usage{}
	for _, l := range c.licenses {
		l.used = 0
	}
	for _, r := range slices.Clone(c.resvs) {
		c.deleteReservation(r.view().Name)
	}
	c.mu.Unlock()
	c.Restart()
}

// SetNextJobID decides which id the next job gets, or the first free one behind
// it. Ids begin at 1 again behind the largest, 67108863.
func (c *Cluster) SetNextJobID(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID = max(1, id) - 1
}

// snapshot begins an answer: records taken now stay as they are.
func (c *Cluster) snapshot() { c.gen++ }
