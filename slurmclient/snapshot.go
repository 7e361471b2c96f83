package slurmclient

import (
	"iter"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Resource is the name of something that a Cache polls.
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
	// Conf is slurmctld's configuration. It is polled only if CacheConfig.Resources names it.
	Conf Resource = "conf"
	// EndedJobs are the jobs that have ended lately, as slurmdbd has recorded them. They are polled only if CacheConfig.Resources names
	// them.
	EndedJobs Resource = "ended_jobs"
)

// Resources lists the resources that a Cache polls by default, in the order in which they are shown:
// all but Conf and EndedJobs.
func Resources() []Resource {
	return []Resource{
		Pings, Nodes, Jobs, Partitions, Reservations, Licenses, Stats, Shares,
		Associations, Accounts, Users, QOS,
	}
}

// OptionalResources lists the resources that a Cache polls only if CacheConfig.Resources names them.
func OptionalResources() []Resource { return []Resource{Conf, EndedJobs} }

// Reading is one resource as the cache last read it. The zero value is a resource that has never been
// read: Known is false and Value has no meaning.
type Reading[T any] struct {
	// Value is the last good reading. It is immutable.
	Value T
	Poll
}

// Poll is the state of the polling of one resource.
type Poll struct {
	// Resource is the resource, and Enabled is whether the cache polls it.
	Resource Resource
	Enabled  bool
	// Known is true from the first good reading on and never becomes false again.
	Known bool
	// Absent is whether the cluster does not have the resource: a table of slurmdbd if there is
	// no slurmdbd. The value is then known to be empty.
	Absent bool
	// Sequence increases by one with every reading whose value differs from the last.
	Sequence uint64
	// Cluster is the ClusterName of the Slurm cluster that sent the value, empty if unknown.
	Cluster string
	// ServerTime is the server's last_update of the value, 0 if it sends none.
	ServerTime slurm.Time
	// ReadAt is when the poll began that last confirmed the value, by the local clock.
	ReadAt time.Time
	// OldestAt is when the oldest fact in the value was last known to be right. This is ReadAt,
	// or the time of an earlier poll if jobs may have changed that have not been read since
	// (ReadDelta).
	OldestAt time.Time
	// Took is how long the last successful poll lasted. Period is the current pause between
	// polls.
	Took, Period time.Duration
	// Round is the time in which a delta reader reads every record again at the current pace,
	// whether or not anything hints at a change. 0 means that each poll reads all changes.
	Round time.Duration
	// Reader is how the last good poll read jobs, ReadList or ReadDelta; empty for other
	// resources. A delta reader requests the list if the states of all tasks would cost
	// slurmrestd more, and if it could not read the states.
	Reader JobsReader
	// Err is why the last poll failed, nil if it succeeded. FailingSince is when the first of
	// the consecutive failures occurred, and Failures is their number.
	Err          error
	FailingSince time.Time
	Failures     int
	// Panics is how many polls have panicked since the cache was created. Each of them is also a
	// failure whose Err contains the Panic with its stack.
	Panics int
}

// longestGap is the longest time between two readings during which the earlier one counts as true.
const longestGap = 2 * time.Minute

// TimeUntil returns how long the value held until a later reading of the resource. It is 0 if that is
// unknown: if either reading is missing, more than 2 minutes and 3 polls lie between them, or they are
// of different clusters.
func (p Poll) TimeUntil(next Poll) time.Duration {
	took := next.ReadAt.Sub(p.ReadAt)
	if !p.Known || !next.Known || p.Cluster != next.Cluster || took < 0 || took > max(longestGap, 3*p.Period) {
		return 0
	}
	return took
}

// AsOf returns when the oldest fact in the value was last known to be right, by the local clock. It
// is zero for a resource that was never read.
func (p Poll) AsOf() time.Time {
	if !p.OldestAt.IsZero() && p.OldestAt.Before(p.ReadAt) {
		return p.OldestAt
	}
	return p.ReadAt
}

// Age returns the age of the value at now, which is the age of its oldest fact. Callers check Known
// first, since Age returns 0 for a resource that was never read.
func (p Poll) Age(now time.Time) time.Duration {
	at := p.AsOf()
	if at.IsZero() {
		return 0
	}
	return max(0, now.Sub(at))
}

// Snapshot is the content of the cache at one moment. It is immutable, so readers may keep it as long
// as they like. The resources are read independently, so a job may name a node that the list of nodes
// does not contain yet.
type Snapshot struct {
	// Sequence increases with every publication.
	Sequence uint64
	// Server and Version (such as "v0.0.44") come from the last answer; they are empty before the first one.
	Server  slurm.Server
	Version string
	// PublishedAt is when this snapshot was published, by the local clock.
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
	// BusySinceJobs contains the nodes, by name, that were given work since jobs were last read.
	// Jobs that are pending in the list may run there by now.
	BusySinceJobs map[string]BusyNode
	// Conf has a nil value if the server's API version does not support it (before v0.0.45).
	Conf Reading[*slurm.Conf]
	// EndedJobs are the jobs that ended since a while before the last good poll but one. slurmdbd may record an end some minutes late, so
	// the same jobs are in several readings.
	EndedJobs Reading[[]slurm.EndedJob]
}

// Polls lists the state of every resource in the order of Resources; Conf and EndedJobs are last.
func (s *Snapshot) Polls() []Poll {
	var out []Poll
	for _, p := range s.polls() {
		out = append(out, *p.poll)
	}
	return out
}

type resourcePoll struct {
	resource Resource
	poll     *Poll
}

func (s *Snapshot) polls() []resourcePoll {
	return []resourcePoll{
		{Pings, &s.Pings.Poll}, {Nodes, &s.Nodes.Poll}, {Jobs, &s.Jobs.Poll},
		{Partitions, &s.Partitions.Poll}, {Reservations, &s.Reservations.Poll},
		{Licenses, &s.Licenses.Poll}, {Stats, &s.Stats.Poll}, {Shares, &s.Shares.Poll},
		{Associations, &s.Associations.Poll}, {Accounts, &s.Accounts.Poll},
		{Users, &s.Users.Poll}, {QOS, &s.QOS.Poll}, {Conf, &s.Conf.Poll},
		{EndedJobs, &s.EndedJobs.Poll},
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
func (s *Snapshot) Job(id uint32) *slurm.Job { return records.FindJob(s.Jobs.Value, id) }

// Node returns the node with the name, or nil.
func (s *Snapshot) Node(name string) *slurm.Node { return records.FindNode(s.Nodes.Value, name) }

// Change is one object that differs between two snapshots. Old is nil for an object that was added,
// New is nil for one that was removed. Both are set and differ for an object that changed; they are
// never the same pointer.
type Change[T any] struct{ Old, New *T }

// JobChanges compares the jobs of two snapshots and returns the changes in order of job id. A nil
// snapshot, and one whose jobs were never read, has no jobs.
func JobChanges(old, now *Snapshot) []Change[slurm.Job] {
	return collectChanges(records.JobChanges(jobsOf(old), jobsOf(now)))
}

// NodeChanges is JobChanges for nodes, in order of name.
func NodeChanges(old, now *Snapshot) []Change[slurm.Node] {
	return collectChanges(records.NodeChanges(nodesOf(old), nodesOf(now)))
}

func collectChanges[T any](changes iter.Seq2[*T, *T]) (out []Change[T]) {
	for old, now := range changes {
		out = append(out, Change[T]{Old: old, New: now})
	}
	return out
}

func nodesOf(s *Snapshot) []*slurm.Node {
	if s == nil {
		return nil
	}
	return s.Nodes.Value
}

func jobsOf(s *Snapshot) []*slurm.Job {
	if s == nil {
		return nil
	}
	return s.Jobs.Value
}
