// Package slurmctld is the simulator's model of a Slurm cluster: nodes, partitions, jobs, reservations,
// licenses and accounts, with a scheduler that moves jobs as Slurm would. It knows no HTTP and no JSON.
package slurmctld

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Cluster is a simulated Slurm cluster. Its methods are safe for concurrent use.
type Cluster struct {
	cfg Config

	mu sync.Mutex
	// now is the model's time; only Step moves it.
	now slurm.Time
	// generation counts the answers begun; see Record.
	generation uint64

	nodes        []*node
	nodeByName   map[string]*node
	partitions   []*partition
	licenses     []*license
	reservations []*reservation
	users        map[string]UserConf

	jobs      []*job // in slurmctld's order
	jobByID   map[uint32]*job
	arrays    map[uint32]*array
	lastJobID uint32
	queue     queue
	running   runningCounts
	// usedCPUSeconds is the usage of each user.
	usedCPUSeconds map[string]uint64

	// changedAt is when each kind of record last changed, for update_time.
	changedAt       Times
	events          eventQueue
	stats           Stats
	flagTexts       map[jobFlags]string
	needsScheduling bool // a change since the last scheduling pass may let jobs start
	// dependents are the jobs that wait for others.
	dependents []*job
}

// New returns a cluster at the time of cfg.Now. Its nodes are up unless their NodeConf.State says
// otherwise.
func New(cfg Config) *Cluster {
	cfg = cfg.withDefaults()
	c := &Cluster{
		cfg: cfg, now: slurm.At(cfg.Now()), generation: 1,
		nodeByName: map[string]*node{}, users: map[string]UserConf{},
		jobByID: map[uint32]*job{}, arrays: map[uint32]*array{},
		running: runningCounts{}, usedCPUSeconds: map[string]uint64{}, flagTexts: map[jobFlags]string{},
	}
	c.changedAt = Times{Nodes: c.now, Jobs: c.now, Partitions: c.now, Reservations: c.now}
	c.stats.Since = c.now
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
	return c
}

// Now returns the model's time.
func (c *Cluster) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Time()
}

// Restart restarts slurmctld: its counters start again at zero, and every record counts as changed.
func (c *Cluster) Restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats = Stats{Since: c.now, purgePending: c.stats.purgePending}
	c.changedAt = Times{Nodes: c.now, Jobs: c.now, Partitions: c.now, Reservations: c.now}
	c.needsScheduling = true
}

// ColdStart restarts slurmctld without its saved state (slurmctld -c): jobs and reservations are
// gone and job ids start at 1.
func (c *Cluster) ColdStart() {
	c.mu.Lock()
	for _, j := range c.jobs {
		for _, g := range j.allocations {
			g.release(j)
			c.updateNodeRecord(g.node)
		}
		j.allocations, j.purged = nil, true
	}
	c.jobs, c.jobByID, c.arrays, c.lastJobID = nil, map[uint32]*job{}, map[uint32]*array{}, 0
	c.queue, c.dependents, c.running = queue{}, nil, runningCounts{}
	for _, l := range c.licenses {
		l.used = 0
	}
	for _, r := range slices.Clone(c.reservations) {
		c.deleteReservation(r.View().Name)
	}
	c.mu.Unlock()
	c.Restart()
}

// SetNextJobID sets the id of the next job; if that id is taken, the job gets the next free one.
// After the largest id, 67108863, ids start at 1 again.
func (c *Cluster) SetNextJobID(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastJobID = max(1, id) - 1
}

// freezeRecords keeps the records handed out until now from changing. The caller must hold the
// lock.
func (c *Cluster) freezeRecords() { c.generation++ }

// Config returns the configuration with its defaults.
func (c *Cluster) Config() Config { return c.cfg }

// User returns a user by name.
func (c *Cluster) User(name string) (UserConf, bool) {
	u, ok := c.users[name]
	return u, ok
}

// AssociationID returns the id of the user's association: accounts come first, then users in the
// order of the configuration. It is 0 without accounting.
func (c *Cluster) AssociationID(user string) uint32 {
	if c.cfg.NoAccounting {
		return 0
	}
	i := slices.IndexFunc(c.cfg.Users, func(u UserConf) bool { return u.Name == user })
	return uint32(2 + len(c.Accounts()) + i)
}

// Accounts returns the names of all accounts, root first.
func (c *Cluster) Accounts() []string {
	list := []string{"root"}
	for _, u := range c.cfg.Users {
		if u.Account != "" && !slices.Contains(list, u.Account) {
			list = append(list, u.Account)
		}
	}
	slices.SortStableFunc(list[1:], strings.Compare)
	return list
}

// ReadUsage returns the CPU seconds that each user has used.
func (c *Cluster) ReadUsage() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.usedCPUSeconds)
}
