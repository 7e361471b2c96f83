package live

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Cluster is the Slurm cluster of one object. Its methods may be called from any number
// of goroutines. When its object is gone or names another server it ends: the
// reading stays as it was and every write fails.
type Cluster struct {
	key      access.ClusterKey
	endpoint access.Endpoint
	cfg      *Config
	notify   func(access.ClusterKey)

	cancel context.CancelFunc
	slots  chan struct{} // taken by requests, see enter

	reading    atomic.Pointer[Reading]
	connection atomic.Pointer[access.Connection]
	// failure is why there is no connection.
	failure atomic.Pointer[error]
	// refreshRequestedAt is when Soon last asked for a reading, in nanoseconds since 1970.
	refreshRequestedAt atomic.Int64
}

func newCluster(k access.ClusterKey, t access.Endpoint, cfg *Config, tell func(access.ClusterKey)) *Cluster {
	s := &Cluster{key: k, endpoint: t, cfg: cfg, notify: tell, cancel: func() {}, slots: make(chan struct{}, maxConcurrentRequests)}
	s.reading.Store(&Reading{Snapshot: &slurmclient.Snapshot{}})
	if t.Problem != "" {
		s.failure.Store(ptr[error](&EndpointError{t.Problem}))
	}
	return s
}

// EndpointError says that an object does not tell how to reach its Slurm.
type EndpointError struct{ Problem string }

// Error tells people what is missing.
func (e *EndpointError) Error() string { return e.Problem }

// Key names the object.
func (s *Cluster) Key() access.ClusterKey { return s.key }

// Reading returns the newest reading. It is never nil and never blocks; before the
// first one, and as long as it rests on what is not known, it is not Complete. What
// was read last stays while Slurm cannot be reached, and grows old.
func (s *Cluster) Reading() *Reading { return s.reading.Load() }

// Err returns why Slurm cannot be read now, nil if it can or nothing was tried yet: a
// *TargetError, what kept a client from being made, or how the last poll of nodes
// or jobs failed. It holds no secret.
func (s *Cluster) Err() error {
	if p := s.failure.Load(); p != nil {
		return *p
	}
	if c := s.connection.Load(); c != nil {
		now := c.Cache.Snapshot()
		return cmp.Or(now.Nodes.Err, now.Jobs.Err)
	}
	return nil
}

// Problem is Err in words, "" for none.
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

func ptr[T any](v T) *T { return &v }

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

// publishReadings makes a reading of every snapshot until ctx ends, and tells of those with news.
func (s *Cluster) publishReadings(ctx context.Context, c access.Connection) {
	s.connection.Store(&c)
	s.failure.Store(nil)
	defer s.connection.Store(nil)
	var r readingBuilder
	var told *Reading
	var after uint64
	for {
		next := r.next(c.Cache.Snapshot())
		// A new connection knows nothing at first, while what the last one has read
		// grows old by itself.
		if next.hasNodesAndJobs() || !s.Reading().hasNodesAndJobs() {
			s.reading.Store(next)
		}
		if next.hasChangesSince(told) {
			told = next
			s.notify(s.key)
		}
		after = next.Snapshot.Sequence
		if _, err := c.Cache.Next(ctx, after); err != nil {
			return
		}
	}
}

var errNotConnected = errors.New("there is no connection")

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
