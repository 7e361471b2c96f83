package live

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Slurm is the Slurm cluster of one object. Its methods may be called from any number
// of goroutines. When its object is gone or names another server it ends: the
// reading stays as it was and every write fails.
type Slurm struct {
	key    access.Key
	target access.Target
	cfg    *Config
	tell   func(access.Key)

	cancel context.CancelFunc
	slots  chan struct{} // taken by requests, see enter

	reading    atomic.Pointer[Reading]
	connection atomic.Pointer[access.Connection]
	// failure is why there is no connection.
	failure atomic.Pointer[error]
	// soon is when Soon last asked for a reading, in nanoseconds since 1970.
	soon atomic.Int64
}

func newSlurm(k access.Key, t access.Target, cfg *Config, tell func(access.Key)) *Slurm {
	s := &Slurm{key: k, target: t, cfg: cfg, tell: tell, cancel: func() {}, slots: make(chan struct{}, atATime)}
	s.reading.Store(&Reading{Snapshot: &slurmclient.Snapshot{}})
	if t.Problem != "" {
		s.failure.Store(ptr[error](&TargetError{t.Problem}))
	}
	return s
}

// TargetError says that an object does not tell how to reach its Slurm.
type TargetError struct{ Problem string }

// Error tells people what is missing.
func (e *TargetError) Error() string { return e.Problem }

// Key names the object.
func (s *Slurm) Key() access.Key { return s.key }

// Reading returns the newest reading. It is never nil and never blocks; before the
// first one, and as long as it rests on what is not known, it is not Complete. What
// was read last stays while Slurm cannot be reached, and grows old.
func (s *Slurm) Reading() *Reading { return s.reading.Load() }

// Err returns why Slurm cannot be read now, nil if it can or nothing was tried yet: a
// *TargetError, what kept a client from being made, or how the last poll of nodes
// or jobs failed. It holds no secret.
func (s *Slurm) Err() error {
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
func (s *Slurm) Problem() string {
	if err := s.Err(); err != nil {
		return err.Error()
	}
	return ""
}

func (s *Slurm) fail(err error) {
	s.failure.Store(&err)
	s.tell(s.key)
}

func ptr[T any](v T) *T { return &v }

// run reads the cluster until ctx ends.
func (s *Slurm) run(ctx context.Context) {
	if s.target.Problem != "" {
		return
	}
	dial := func(ctx context.Context) (access.Link, error) {
		var observer slurmclient.Observer
		if s.cfg.Observer != nil {
			observer = s.cfg.Observer(s.key)
		}
		return s.cfg.Access.Dial(ctx, s.target, observer)
	}
	access.Keep(ctx, s.cfg.Cache, dial, s.fail, s.read)
}

// read makes a reading of every snapshot until ctx ends, and tells of those with news.
func (s *Slurm) read(ctx context.Context, c access.Connection) {
	s.connection.Store(&c)
	s.failure.Store(nil)
	defer s.connection.Store(nil)
	var r reader
	var told *Reading
	var after uint64
	for {
		next := r.read(c.Cache.Snapshot())
		// A new connection knows nothing at first, while what the last one has read
		// grows old by itself.
		if next.known() || !s.Reading().known() {
			s.reading.Store(next)
		}
		if next.tells(told) {
			told = next
			s.tell(s.key)
		}
		after = next.Snapshot.Sequence
		if _, err := c.Cache.Next(ctx, after); err != nil {
			return
		}
	}
}

var errEnded = errors.New("there is no connection")

// client returns the client of the connection, or an error of CodeUnavailable.
func (s *Slurm) client(op string) (*slurmclient.Client, error) {
	if c := s.connection.Load(); c != nil {
		return c.Client, nil
	}
	err := errEnded
	if p := s.failure.Load(); p != nil {
		err = *p
	}
	return nil, &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: err}
}
