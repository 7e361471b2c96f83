package slurmclient

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Resource names one thing that the cache polls.
type Resource string

// The resources that a Cache can poll.
const (
	Nodes        Resource = "nodes"
	Jobs         Resource = "jobs"
	Partitions   Resource = "partitions"
	Reservations Resource = "reservations"
	Licenses     Resource = "licenses"
	Stats        Resource = "diag"
	Shares       Resource = "shares"
	Pings        Resource = "ping"
	Associations Resource = "associations"
	Accounts     Resource = "accounts"
	Users        Resource = "users"
	QOS          Resource = "qos"
	// Conf is slurmctld's configuration, which is polled only where it is asked for.
	Conf Resource = "conf"
)

// Resources lists what a Cache polls unless it is told otherwise, in the order in which
// it is shown: everything but Conf.
func Resources() []Resource {
	return []Resource{
		Pings, Nodes, Jobs, Partitions, Reservations, Licenses, Stats, Shares,
		Associations, Accounts, Users, QOS,
	}
}

// Reading is one resource as the cache last saw it. The zero value is a resource
// that has never been read: Known is false and Value means nothing.
type Reading[T any] struct {
	// Value is the last good reading. It is never written to again.
	Value T
	Poll
}

// Poll is how a resource's polling stands, the same for every resource.
type Poll struct {
	// Resource is what was polled, Enabled whether the cache polls it at all.
	Resource Resource
	Enabled  bool
	// Known is true from the first good reading on and never goes back to false.
	Known bool
	// Absent is whether the cluster has nothing of the kind: what slurmdbd keeps, where
	// there is no slurmdbd. The value is then known to be empty.
	Absent bool
	// Sequence grows by one with every reading whose value differs from the last.
	Sequence uint64
	// Cluster is Slurm's own name of the cluster that gave the value, empty for not told.
	Cluster string
	// ServerTime is the server's last_update of the value, 0 where it gives none.
	ServerTime slurm.Time
	// ReadAt is when the poll began that last confirmed the value (by our clock).
	ReadAt time.Time
	// OldestAt is when the oldest fact in the value was last known to be right: ReadAt,
	// or an earlier poll for jobs that may have changed and that have not been read since
	// (ReadDelta).
	OldestAt time.Time
	// Took is how long the last successful poll lasted, Period the pause that the
	// cache now keeps between polls.
	Took, Period time.Duration
	// Round is the time in which every record is read again at this pace, whether or not
	// anything hints at a change; 0 where each poll reads all that changed (ReadDelta).
	Round time.Duration
	// Reader is how the last good poll read jobs, ReadList or ReadDelta; empty for other
	// resources. A delta reader asks for the list where the states of all tasks would cost
	// slurmrestd more, and where it could not read them.
	Reader JobsReader
	// Err is why the last poll failed, nil when it succeeded; FailingSince when the
	// first failure of this row was seen and Failures how many there were.
	Err          error
	FailingSince time.Time
	Failures     int
	// Panics is how many polls have ended in a panic since the cache began. Each is also
	// a failure whose Err has the Panic, with its stack.
	Panics int
}

// AsOf is when the oldest fact in the value was last known to be right, by our clock: zero
// for a resource never read.
func (p Poll) AsOf() time.Time {
	if !p.OldestAt.IsZero() && p.OldestAt.Before(p.ReadAt) {
		return p.OldestAt
	}
	return p.ReadAt
}

// Age is how old the value is at now, which is the age of its oldest fact. Callers check
// Known first: a resource never read has no age and 0 is returned.
func (p Poll) Age(now time.Time) time.Duration {
	at := p.AsOf()
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at))
}

// Snapshot is everything that the cache holds at one moment. It is immutable: a
// reader may keep it as long as it likes. The resources are read one after the
// other, so a job may name a node that the node list does not have yet.
type Snapshot struct {
	// Sequence grows with every publication.
	Sequence uint64
	// Server and Version (such as "v0.0.44") are those of the last answer; empty
	// before the first.
	Server  slurm.Server
	Version string
	// PublishedAt is when this snapshot was published, by our clock.
	PublishedAt time.Time

	Pings        Reading[[]slurm.Ping]
	Nodes        Reading[[]*slurm.Node] // sorted by name
	Jobs         Reading[[]*slurm.Job]  // sorted by id
	Partitions   Reading[[]*slurm.Partition]
	Reservations Reading[[]*slurm.Reservation]
	Licenses     Reading[[]slurm.License]
	Stats        Reading[*slurm.Stats]
	Shares       Reading[[]slurm.Share]
	Associations Reading[[]slurm.Association]
	Accounts     Reading[[]slurm.Account]
	Users        Reading[[]slurm.User]
	QOS          Reading[[]slurm.QOS]
	// Earlier has the nodes, by name, that were seen to get work since jobs were last
	// read: jobs that wait by the list may run there by now.
	Earlier map[string]Earlier
	// Conf's value is nil where the server's API version does not tell (before v0.0.45).
	Conf Reading[*slurm.Conf]
}

// Polls lists the polling state of every resource, in the order of Resources; Conf is last.
func (s *Snapshot) Polls() []Poll {
	var out []Poll
	for _, p := range s.polls() {
		out = append(out, *p.poll)
	}
	return out
}

type namedPoll struct {
	resource Resource
	poll     *Poll
}

func (s *Snapshot) polls() []namedPoll {
	return []namedPoll{
		{Pings, &s.Pings.Poll}, {Nodes, &s.Nodes.Poll}, {Jobs, &s.Jobs.Poll},
		{Partitions, &s.Partitions.Poll}, {Reservations, &s.Reservations.Poll},
		{Licenses, &s.Licenses.Poll}, {Stats, &s.Stats.Poll}, {Shares, &s.Shares.Poll},
		{Associations, &s.Associations.Poll}, {Accounts, &s.Accounts.Poll},
		{Users, &s.Users.Poll}, {QOS, &s.QOS.Poll}, {Conf, &s.Conf.Poll},
	}
}

func (s *Snapshot) poll(r Resource) *Poll {
	for _, p := range s.polls() {
		if p.resource == r {
			return p.poll
		}
	}
	return &Poll{}
}

// Job returns the record with the id, or nil.
func (s *Snapshot) Job(id uint32) *slurm.Job { return findJob(s.Jobs.Value, id) }

// Node returns the node with the name, or nil.
func (s *Snapshot) Node(name string) *slurm.Node { return findNode(s.Nodes.Value, name) }
