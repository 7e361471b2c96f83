package view

import (
	"cmp"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// part is what one cluster has of a noun. It is immutable, but for the records' being
// shared with snapshots.
type part[T any] struct {
	home    Home
	prefix  string
	private bool
	// known is false for a cluster of which nothing was read yet, or not what is private.
	known bool
	// items are sorted.
	items []*T
	// sequence and raw tell what the items were made of.
	sequence uint64
	raw      []*T
}

// frame is what all clusters have of a noun at one moment. It is immutable.
type frame[T any] struct {
	version uint64
	parts   []*part[T] // sorted by home
	// before is the version of the frame that changes lead from.
	before  uint64
	changes []change[T]
}

// change is one record that differs between two frames: old is nil for one that is
// new, now is nil for one that is gone.
type change[T any] struct {
	in       *part[T] // the newer one, if there is one
	old, now *T
}

// timeline has the frames of a noun. Its methods may be called from any goroutine.
type timeline[T any] struct {
	noun    *noun[T]
	sources func() ([]Source, error)
	clock   func() time.Time
	failed  func(cluster string, err error)

	mu     sync.Mutex
	frames []*frame[T] // oldest first
	moved  chan struct{}
}

// keep is how many frames are kept at the most, and keepChanges how many records that
// differ between them, beside a share of all records: they are memory that the newest
// frame does not need.
const (
	keep        = 64
	keepChanges = 20_000
	keepShare   = 4
)

func newTimeline[T any](n *noun[T], sources func() ([]Source, error), clock func() time.Time) *timeline[T] {
	return &timeline[T]{noun: n, sources: sources, clock: clock, failed: func(string, error) {}, moved: make(chan struct{})}
}

// refresh returns the newest frame, after a look at the sources. It is an error, that
// of a server which can not answer now, when they are not known.
func (t *timeline[T]) refresh() (*frame[T], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sources, err := t.sources()
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	return t.advance(t.partsOf(sources, t.newest())), nil
}

func (t *timeline[T]) newest() *frame[T] {
	if len(t.frames) == 0 {
		return nil
	}
	return t.frames[len(t.frames)-1]
}

// advance makes a frame of the parts, unless the newest is the same to clients.
func (t *timeline[T]) advance(parts []*part[T]) *frame[T] {
	last := t.newest()
	if last != nil && slices.Equal(parts, last.parts) {
		return last
	}
	next := &frame[T]{version: uint64(max(t.clock().UnixMicro(), 1)), parts: parts}
	if last != nil {
		next.version = max(next.version, last.version+1)
		next.before, next.changes = last.version, changesOf(t.noun, last.parts, parts)
		if samePolicy(last.parts, parts) && len(next.changes) == 0 && sameKnown(last.parts, parts) {
			// New slices of the same records, after a reconnect or of a poll that read the
			// same: to clients nothing has changed.
			next.version, next.before, next.changes = last.version, last.before, last.changes
			t.frames[len(t.frames)-1] = next
			return next
		}
	}
	t.frames = trim(append(t.frames, next))
	close(t.moved)
	t.moved = make(chan struct{})
	return next
}

// latest returns the newest frame, nil before the first, and a channel that is closed
// when there is a newer one.
func (t *timeline[T]) latest() (*frame[T], <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest(), t.moved
}

// at returns the frame of the version, or nil when there is none any more.
func (t *timeline[T]) at(version uint64) *frame[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.version == version {
			return f
		}
	}
	return nil
}

// trim drops the oldest frames that are too many or hold too much.
func trim[T any](frames []*frame[T]) []*frame[T] {
	newest := frames[len(frames)-1]
	most, held := max(keepChanges, newest.size()/keepShare), 0
	first := len(frames) - 1
	for ; first > 0 && len(frames)-first < keep; first-- {
		if held += len(frames[first].changes); held > most {
			break
		}
	}
	return slices.Clone(frames[first:])
}

// size is how many records there are.
func (f *frame[T]) size() int {
	n := 0
	for _, p := range f.parts {
		n += len(p.items)
	}
	return n
}

// partsOf makes a part of each source, or takes that of the last frame where nothing
// is known, nothing has changed, or making it panics.
func (t *timeline[T]) partsOf(sources []Source, last *frame[T]) []*part[T] {
	sharing := sharingOf(sources)
	parts := make([]*part[T], 0, len(sources))
	for i, s := range sources {
		prefix, old := s.Home.prefix(sharing[i]), last.part(s.Home)
		next := cmp.Or(old, &part[T]{home: s.Home, prefix: prefix, private: true})
		err := slurmclient.Guard("making "+t.noun.resource+" of "+s.Home.String(), func() { next = partOf(t.noun, s, prefix, old) })
		if err != nil {
			t.failed(s.Home.String(), err)
		}
		parts = append(parts, next)
	}
	return parts
}

func partOf[T any](n *noun[T], s Source, prefix string, old *part[T]) *part[T] {
	snapshot, err := s.Snapshot()
	if err != nil {
		snapshot = nil
	}
	private, settled := s.private(snapshot)
	next := &part[T]{home: s.Home, prefix: prefix, private: n.private(private)}
	var poll slurmclient.Poll
	if snapshot != nil && settled {
		next.raw, poll = n.read(snapshot)
	}
	if !settled && old != nil {
		next.private = old.private
	}
	next.known, next.sequence = poll.Known, poll.Sequence
	switch {
	case !next.known && old != nil:
		// A connection that is made anew knows nothing yet: what is there is not gone.
		next.known, next.raw, next.sequence, next.items = old.known, old.raw, old.sequence, old.items
	case old != nil && old.known && old.sequence == next.sequence && sameSlice(old.raw, next.raw):
		next.items = old.items
	default:
		next.items = n.sorted(next.raw)
	}
	if old != nil && old.prefix == next.prefix && old.private == next.private && old.known == next.known &&
		old.sequence == next.sequence && sameSlice(old.items, next.items) {
		return old
	}
	return next
}

// part returns that of the home, or nil. The frame may be nil.
func (f *frame[T]) part(h Home) *part[T] {
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.parts, h, func(p *part[T], h Home) int { return p.home.Compare(h) })
	if !ok {
		return nil
	}
	return f.parts[i]
}

// sameSlice reports that both are the same memory.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func samePolicy[T any](a, b []*part[T]) bool {
	return slices.EqualFunc(a, b, func(p, q *part[T]) bool {
		return p.home == q.home && p.prefix == q.prefix && p.private == q.private
	})
}

func sameKnown[T any](a, b []*part[T]) bool {
	return slices.EqualFunc(a, b, func(p, q *part[T]) bool { return p.known == q.known })
}
