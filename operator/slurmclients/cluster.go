package slurmclients

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Cluster is the Slurm cluster of one object. Its methods are safe for concurrent use. It stops when its
// object is deleted or names another server: the reading stays unchanged and every write fails.
type Cluster struct {
	key      refs.ClusterKey
	endpoint refs.Endpoint
	cfg      *Config
	notify   func(refs.ClusterKey)

	cancel context.CancelFunc
	slots  chan struct{} // taken by requests, see acquire

	reading    atomic.Pointer[Reading]
	connection atomic.Pointer[access.Connection]
	// failure is the reason for a missing connection.
	failure atomic.Pointer[error]
	// refreshRequestedAt is the time of the last RequestRefresh, in nanoseconds since 1970.
	refreshRequestedAt atomic.Int64
}

func newCluster(k refs.ClusterKey, t refs.Endpoint, cfg *Config, notify func(refs.ClusterKey)) *Cluster {
	s := &Cluster{
		key: k, endpoint: t, cfg: cfg, notify: notify,
		cancel: func() {}, slots: make(chan struct{}, maxConcurrentRequests),
	}
	s.reading.Store(&Reading{Snapshot: &slurmclient.Snapshot{}})
	if t.Problem != "" {
		s.failure.Store(pointerTo[error](&EndpointError{t.Problem}))
	}
	return s
}

// EndpointError reports that an object lacks what is needed to reach its Slurm cluster.
type EndpointError struct{ Problem string }

// Error returns the missing part, in words for users.
func (e *EndpointError) Error() string { return e.Problem }

// Key names the object.
func (s *Cluster) Key() refs.ClusterKey { return s.key }

// Reading returns the newest reading, never nil, without blocking. It is not Complete before the
// first polls of nodes and jobs succeed. While Slurm cannot be reached, the last reading stays and
// its age grows.
func (s *Cluster) Reading() *Reading { return s.reading.Load() }

// Err returns the reason why Slurm cannot be read now, or nil if it can or if no attempt was made yet. It is
// an *EndpointError, the error of creating a client, or the error of the last poll of nodes or jobs. A poll's
// error counts until a new connection has read both. It contains no secret.
func (s *Cluster) Err() error {
	if p := s.failure.Load(); p != nil {
		return *p
	}
	if c := s.connection.Load(); c != nil {
		now := c.Cache.Snapshot()
		if err := cmp.Or(now.Nodes.Err, now.Jobs.Err); err != nil || now.Nodes.Known && now.Jobs.Known {
			return err
		}
	}
	last := s.Reading().Snapshot
	return cmp.Or(last.Nodes.Err, last.Jobs.Err)
}

// Problem returns the text of Err, or "" without an error.
func (s *Cluster) Problem() string {
	if err := s.Err(); err != nil {
		return err.Error()
	}
	return ""
}

func (s *Cluster) setFailure(err error) {
	s.failure.Store(&err)
	s.notify(s.key)
}

func pointerTo[T any](v T) *T { return &v }

// run reads the cluster until ctx ends.
func (s *Cluster) run(ctx context.Context) {
	if s.endpoint.Problem != "" {
		return
	}
	dial := func(ctx context.Context) (access.Session, error) {
		var observer slurmclient.Observer
		if s.cfg.Observer != nil {
			observer = s.cfg.Observer(s.key)
		}
		return s.cfg.Access.Dial(ctx, s.endpoint, observer)
	}
	access.KeepConnected(ctx, s.cfg.Cache, dial, s.setFailure, s.publishReadings)
}

// publishReadings builds a reading of every snapshot until ctx ends, and notifies the listeners of
// those that have changes.
func (s *Cluster) publishReadings(ctx context.Context, c access.Connection) {
	s.connection.Store(&c)
	s.failure.Store(nil)
	defer s.connection.Store(nil)
	var r readingBuilder
	var notified *Reading
	var after uint64
	for {
		next := r.next(c.Cache.Snapshot())
		// A new connection knows nothing at first. The last reading stays until then; its age shows
		// that it is old.
		if next.hasNodesAndJobs() || !s.Reading().hasNodesAndJobs() {
			s.reading.Store(next)
		}
		if next.hasChangesSince(notified) {
			notified = next
			s.notify(s.key)
		}
		after = next.Snapshot.Sequence
		if _, err := c.Cache.Next(ctx, after); err != nil {
			return
		}
	}
}

var errNotConnected = errors.New("not connected")

// client returns the client of the connection, or an error of CodeUnavailable.
func (s *Cluster) client(op string) (*slurmclient.Client, error) {
	if c := s.connection.Load(); c != nil {
		return c.Client, nil
	}
	err := errNotConnected
	if p := s.failure.Load(); p != nil {
		err = *p
	}
	return nil, &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
}
