package view

import (
	"cmp"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// clusterRecords are the records of one cluster in a frame. They are immutable and share the
// records with snapshots.
type clusterRecords[T any] struct {
	ref     ClusterRef
	prefix  string
	private bool
	// known is false if the records or the PrivateData of the cluster have not been read yet.
	known bool
	// records are sorted.
	records []*T
	// sequence and source identify the reading that the records come from.
	sequence uint64
	source   []*T
	// usersByAssociation are the users of associations, of which associations is the reading. They are read only where records are
	// private.
	usersByAssociation map[uint32]string
	associations       uint64
}

// frame contains the records of all clusters at one moment. It is immutable.
type frame[T any] struct {
	version  version
	clusters []*clusterRecords[T] // sorted by ref
	// before is the version of the frame that changes are relative to.
	before  version
	changes []change[T]

	describeOnce sync.Once
	state        peerState
}

// change is a record that differs between two frames: old is nil for an added record, and now is
// nil for a deleted one.
type change[T any] struct {
	cluster  *clusterRecords[T] // of the newer frame if it contains the cluster
	old, now *T
	// guessed is whether old may differ from what the client has, and may have nothing but its key. ownerUnknown is whether a deleted
	// record has nothing but its key.
	guessed, ownerUnknown bool
}

// timeline keeps the frames of a resource. It is safe for concurrent use.
type timeline[T any] struct {
	resource *resource[T]
	sources  func() ([]Source, error)
	clock    func() time.Time
	onPanic  func(cluster string, err error)
	replica  version
	// maxAge is how old the facts of a cluster may be that is served.
	maxAge time.Duration

	mu sync.Mutex
	// factsSince is when the facts of the newest frame were last known to be right, but for clusters that are too old to be served.
	factsSince time.Time
	// given is the latest version that a client got.
	given   version
	frames  []*frame[T] // oldest first
	changed chan struct{}
}

// maxFrames is the maximum number of kept frames that are older than keepFrames: with many clusters, there are several frames in a
// second, and clients come back with the version of their last bookmark. The number of changes that all contain is
// limited to the larger of maxChanges and a share (1/changesShare) of all records, because
// changed records need additional memory.
const (
	maxFrames    = 64
	keepFrames   = 3 * bookmarkEvery
	maxChanges   = 20_000
	changesShare = 4
)

func newTimeline[T any](n *resource[T], dir Directory, cfg Config, replica version) *timeline[T] {
	return &timeline[T]{resource: n, sources: dir.Sources, clock: cfg.Now, onPanic: cfg.OnPanic, replica: replica,
		maxAge: cfg.MaxAge, changed: make(chan struct{})}
}

// refresh reads the sources and returns the newest frame. It returns a ServiceUnavailable error
// if the sources are not known.
func (t *timeline[T]) refresh() (*frame[T], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sources, err := t.sources()
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	// The facts are at least as new as those of the snapshots before the records are read.
	now := t.clock()
	t.factsSince = oldestFact(t.resource, sources, now, t.maxAge)
	return t.advance(t.clustersOf(sources, t.newest()), now), nil
}

// changesBetween returns the changes from an earlier frame to the newest one, and the records that have changed in between and back
// again, which a client may have seen.
func (t *timeline[T]) changesBetween(earlier, newest *frame[T]) []change[T] {
	out := changesOf(t.resource, earlier.clusters, newest.clusters)
	seen := map[*T]bool{}
	for _, c := range out {
		seen[c.now] = true
	}
	for _, c := range t.changesAfter(earlier) {
		p := newest.cluster(c.cluster.ref)
		if c.now == nil || p == nil {
			continue
		}
		now, found := p.record(t.resource, t.resource.key(c.now))
		if found && !seen[now] {
			seen[now] = true
			out = append(out, change[T]{cluster: p, old: now, now: now, guessed: true})
		}
	}
	return out
}

// changesAfter returns the changes of all frames after one.
func (t *timeline[T]) changesAfter(earlier *frame[T]) []change[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []change[T]
	for _, f := range t.frames {
		if f.version > earlier.version {
			out = append(out, f.changes...)
		}
	}
	return out
}

// oldestFact returns when the oldest fact of the clusters was last known to be right, now if there is none. Clusters whose facts are
// older than maxAge do not count, because requests for them are refused.
func oldestFact[T any](n *resource[T], sources []Source, now time.Time, maxAge time.Duration) time.Time {
	oldest := now
	for _, s := range sources {
		if snapshot, err := s.Snapshot(); err == nil {
			if _, poll := n.read(snapshot); poll.Known && poll.Age(now) <= maxAge && poll.AsOf().Before(oldest) {
				oldest = poll.AsOf()
			}
		}
	}
	return oldest
}

func (t *timeline[T]) newest() *frame[T] {
	if len(t.frames) == 0 {
		return nil
	}
	return t.frames[len(t.frames)-1]
}

// advance creates a frame from the clusters' records, unless the newest frame is the same for
// clients.
func (t *timeline[T]) advance(parts []*clusterRecords[T], now time.Time) *frame[T] {
	last := t.newest()
	if last != nil && slices.Equal(parts, last.clusters) {
		return last
	}
	next := &frame[T]{version: newVersion(now, t.replica, now.Sub(t.factsSince)), clusters: parts}
	if last != nil {
		next.version = max(next.version, last.version.next(), t.given.next())
		next.before, next.changes = last.version, changesOf(t.resource, last.clusters, parts)
		if samePolicy(last.clusters, parts) && len(next.changes) == 0 && sameKnown(last.clusters, parts) {
			// The slices are new but the records are the same, as after a reconnect or a poll that
			// found no change. For clients nothing has changed.
			next.version, next.before, next.changes = last.version, last.before, last.changes
			t.frames[len(t.frames)-1] = next
			return next
		}
	}
	t.frames = trimFrames(append(t.frames, next))
	close(t.changed)
	t.changed = make(chan struct{})
	return next
}

// latestVersion returns the latest version that a client may have seen.
func (t *timeline[T]) latestVersion() version {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latestGiven()
}

func (t *timeline[T]) latestGiven() version {
	if newest := t.newest(); newest != nil {
		return max(t.given, newest.version).partial()
	}
	return t.given.partial()
}

// latest returns the newest frame, nil before the first one, and a channel that is closed when
// there is a newer one.
func (t *timeline[T]) latest() (*frame[T], <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest(), t.changed
}

// frameAt returns the frame of a version, or nil if it is not kept.
func (t *timeline[T]) frameAt(v version) *frame[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.version == v {
			return f
		}
	}
	return nil
}

// ownFrame returns the frame of a version that this replica has made, or nil if it is not kept. A partial version has no frame.
func (t *timeline[T]) ownFrame(v version) *frame[T] {
	if v.replica() != t.replica || v.isPartial() {
		return nil
	}
	return t.frameToContinue(v)
}

// versionOfState returns a version of a frame that is as new as possible: clients that continue from it need only the changes after
// the last reading.
func (t *timeline[T]) versionOfState(f *frame[T]) version {
	t.mu.Lock()
	defer t.mu.Unlock()
	if newest := t.newest(); newest == nil || f.version != newest.version {
		return f.version
	}
	now := t.clock()
	t.given = max(t.given, f.version, newVersion(now, t.replica, now.Sub(t.factsSince)))
	return t.given
}

// frameToContinue returns the frame from which changes have to be sent to a client that has seen a version, or nil if it is not kept.
// The version may be of another replica: then the frame is one whose facts are not newer than those of the version, so that
// clients get some changes again, but miss none.
func (t *timeline[T]) frameToContinue(seen version) *frame[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	until := seen.at()
	since, known := seen.factsSince()
	switch own := seen.replica() == t.replica; {
	case !known && (seen.isPartial() || !own), own && seen > t.latestGiven():
		return nil
	case !own:
		until = since.Add(-clockSkew)
	}
	for _, f := range slices.Backward(t.frames) {
		if !f.version.at().After(until) {
			return f
		}
	}
	return nil
}

// trimFrames drops the oldest frames that exceed the limits.
func trimFrames[T any](frames []*frame[T]) []*frame[T] {
	newest := frames[len(frames)-1]
	most, held := max(maxChanges, newest.size()/changesShare), 0
	first := len(frames) - 1
	since := newest.version.at().Add(-keepFrames)
	for ; first > 0 && (len(frames)-first < maxFrames || frames[first-1].version.at().After(since)); first-- {
		if held += len(frames[first].changes); held > most {
			break
		}
	}
	return slices.Clone(frames[first:])
}

// size returns the number of records.
func (f *frame[T]) size() int {
	n := 0
	for _, p := range f.clusters {
		n += len(p.records)
	}
	return n
}

// clustersOf returns the records of each source. It reuses those of the last frame if nothing is
// known, nothing has changed, or reading the source panics.
func (t *timeline[T]) clustersOf(sources []Source, last *frame[T]) []*clusterRecords[T] {
	sharing := nameSharingOf(sources)
	parts := make([]*clusterRecords[T], 0, len(sources))
	for i, s := range sources {
		prefix, old := s.Ref.prefix(sharing[i]), last.cluster(s.Ref)
		next := cmp.Or(old, &clusterRecords[T]{ref: s.Ref, prefix: prefix, private: true})
		err := slurmclient.Guard("reading "+t.resource.plural+" of "+s.Ref.String(),
			func() { next = clusterRecordsOf(t.resource, s, prefix, old) })
		if err != nil {
			t.onPanic(s.Ref.String(), err)
		}
		parts = append(parts, next)
	}
	return parts
}

func clusterRecordsOf[T any](n *resource[T], s Source, prefix string, old *clusterRecords[T]) *clusterRecords[T] {
	snapshot, err := s.Snapshot()
	if err != nil {
		snapshot = nil
	}
	private, settled := s.privateData(snapshot)
	next := &clusterRecords[T]{ref: s.Ref, prefix: prefix, private: n.isPrivate(private)}
	var poll slurmclient.Poll
	if snapshot != nil && settled {
		next.source, poll = n.read(snapshot)
	}
	if !settled && old != nil {
		next.private = old.private
	}
	if next.private && n.owner != nil {
		next.readUsers(snapshot, old)
	}
	next.known, next.sequence = poll.Known, poll.Sequence
	switch {
	case !next.known && old != nil:
		// A new connection has read nothing yet. The known records still exist.
		next.known, next.source, next.sequence, next.records = old.known, old.source, old.sequence, old.records
	case old != nil && old.known && old.sequence == next.sequence && sameSlice(old.source, next.source):
		next.records = old.records
	default:
		next.records = n.sortedRecords(next.source)
	}
	if old != nil && old.prefix == next.prefix && old.private == next.private && old.known == next.known &&
		old.sequence == next.sequence && old.associations == next.associations && sameSlice(old.records, next.records) {
		return old
	}
	return next
}

// readUsers reads the users of the associations in a snapshot, or keeps the old ones.
func (p *clusterRecords[T]) readUsers(s *slurmclient.Snapshot, old *clusterRecords[T]) {
	if s == nil || !s.Associations.Known || old != nil && old.associations == s.Associations.Sequence {
		if old != nil {
			p.usersByAssociation, p.associations = old.usersByAssociation, old.associations
		}
		return
	}
	p.usersByAssociation, p.associations = map[uint32]string{}, s.Associations.Sequence
	for i := range s.Associations.Value {
		if a := &s.Associations.Value[i]; a.ID != 0 && a.User != "" {
			p.usersByAssociation[a.ID] = a.User
		}
	}
}

// cluster returns the records of a cluster, or nil. The frame may be nil.
func (f *frame[T]) cluster(h ClusterRef) *clusterRecords[T] {
	if f == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(f.clusters, h,
		func(p *clusterRecords[T], h ClusterRef) int { return p.ref.Compare(h) })
	if !ok {
		return nil
	}
	return f.clusters[i]
}

// record returns the record with a key.
func (p *clusterRecords[T]) record(n *resource[T], key string) (*T, bool) {
	i, found := slices.BinarySearchFunc(p.records, n.withKey(key), n.compare)
	if !found || n.key(p.records[i]) != key {
		return nil, false
	}
	return p.records[i], true
}

// sameSlice reports whether both slices share the same memory.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func samePolicy[T any](a, b []*clusterRecords[T]) bool {
	return slices.EqualFunc(a, b, func(p, q *clusterRecords[T]) bool {
		return p.ref == q.ref && p.prefix == q.prefix && p.private == q.private
	})
}

func sameKnown[T any](a, b []*clusterRecords[T]) bool {
	return slices.EqualFunc(a, b, func(p, q *clusterRecords[T]) bool { return p.known == q.known })
}
