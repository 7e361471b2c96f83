package view

import (
	"cmp"
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slurmtide/slurmtide/slurmclient"
)

const (
	// recheckEvery is how often a watch checks that its records are not too old.
	recheckEvery = 5 * time.Second
	// bookmarkEvery is the minimum time between two bookmarks. A client whose watch breaks
	// continues from the last bookmark if its frame is still kept.
	bookmarkEvery = 30 * time.Second
)

// watcher sends events to one client.
type watcher[T any] struct {
	store  *store[T]
	query  query[T]
	out    chan watch.Event
	cancel context.CancelFunc

	sent            *frame[T]
	sendsState      bool // whether all records of the first frame are sent at the beginning
	marksEndOfState bool // whether a bookmark follows them
	bookmarks       bool
	lastBookmark    time.Time
	// has is the version that the client has; isForeign is whether another replica made it.
	has       version
	isForeign bool
	// shown is what the other replica has shown to the client, nil if it is not known.
	shown peerState
	// quietFrom is when the watch sends no changes any more, zero if it has no end.
	quietFrom time.Time
	// catchUpUntil is how long the watch waits at most until it is as new as what the other replica has shown.
	catchUpUntil time.Time
}

// catchUpWithin is how much longer than a poll a watch waits until it is as new as what another replica has shown. After that, some records
// may go back for a moment.
const catchUpWithin = 15 * time.Second

// A watch sends no changes in the last quietTime before its end, or in the last quarter if that is shorter. A client whose watch ends among
// the changes of a frame would get some of them again, or have to list again after those that follow what another replica has shown.
const quietTime = 2 * time.Second

// Watch implements rest.Watcher. If the records become too old, or PrivateData changes, the watch
// ends with an error, and clients list again.
func (s *store[T]) Watch(ctx context.Context, opts *internalversion.ListOptions) (watch.Interface, error) {
	if opts == nil {
		opts = &internalversion.ListOptions{}
	}
	a, err := s.newQuery(ctx, opts)
	if err != nil {
		return nil, err
	}
	w := &watcher[T]{store: s, query: a, out: make(chan watch.Event), bookmarks: opts.AllowWatchBookmarks,
		lastBookmark: s.clock()}
	if end, has := ctx.Deadline(); has {
		w.quietFrom = end.Add(-min(quietTime, end.Sub(s.clock())/4))
	}
	if err := w.start(ctx, opts); err != nil {
		return nil, err
	}
	if w.sendsState { // otherwise the preceding list had the warning
		s.warn(ctx, a.viewer)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	endless := context.AfterFunc(s.ended, w.cancel)
	go func() {
		defer endless()
		if err := slurmclient.Guard("watching "+s.resource.plural, func() { w.run(ctx) }); err != nil {
			s.timeline.onPanic("", err)
		}
	}()
	return w, nil
}

// start determines the frame at which the watch begins.
func (w *watcher[T]) start(ctx context.Context, opts *internalversion.ListOptions) error {
	asked, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return err
	}
	w.sent, w.has = w.query.newest, w.query.newest.version
	if send := opts.SendInitialEvents; send != nil && *send {
		if err := w.store.waitForVersion(ctx, &w.query, asked); err != nil {
			return err
		}
		w.sent, w.has, w.sendsState, w.marksEndOfState = w.query.newest, w.query.newest.version, true, w.bookmarks
		return nil
	}
	if asked == 0 {
		w.sendsState = opts.SendInitialEvents == nil
		return nil
	}
	w.has, w.isForeign = asked, asked.replica() != w.store.timeline.replica
	now := w.store.clock()
	if asked.at().After(now.Add(clockSkew)) {
		return newExpired(asked)
	}
	covers := w.query.criteria.covers
	if w.isForeign {
		w.shown = w.store.askPeers(ctx, asked)
		w.catchUpUntil = now.Add(catchUpWithin + w.store.longestPoll(covers))
	}
	if w.shown != nil && !w.shown.fits(w.query.newest.describe(w.store.resource), covers) {
		return newExpired(asked)
	}
	earlier := w.store.timeline.frameToContinue(asked)
	switch usable := earlier != nil && (!w.isForeign || sameClusters(earlier, w.query.newest, covers)); {
	case usable:
		w.sent = earlier
	case w.shown == nil:
		return newExpired(asked)
	}
	return nil
}

// sameClusters reports whether two frames have the same clusters among those that counts accepts, all read, and agree on who may see
// their records.
func sameClusters[T any](a, b *frame[T], counts func(ClusterRef) bool) bool {
	for _, p := range b.clusters {
		if q := a.cluster(p.ref); counts(p.ref) && (q == nil || q.known != p.known || q.private != p.private || q.prefix != p.prefix) {
			return false
		}
	}
	return !slices.ContainsFunc(a.clusters, func(p *clusterRecords[T]) bool { return counts(p.ref) && b.cluster(p.ref) == nil })
}

// Stop implements watch.Interface.
func (w *watcher[T]) Stop() { w.cancel() }

// ResultChan implements watch.Interface. It is closed when the watch has ended.
func (w *watcher[T]) ResultChan() <-chan watch.Event { return w.out }

// run sends events until ctx ends or the watch cannot continue.
func (w *watcher[T]) run(ctx context.Context) {
	defer close(w.out)
	defer w.cancel()
	if w.sendsState && !w.sendState(ctx) {
		return
	}
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		newest, moved := w.store.timeline.latest()
		if err := w.checkUsable(newest); err != nil {
			w.send(ctx, watch.Event{Type: watch.Error, Object: statusOf(err)})
			return
		}
		if w.isForeign {
			if !w.catchUp(ctx) {
				return
			}
			continue
		}
		if !w.sendChanges(ctx, newest) || !w.sendBookmark(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-moved:
		case <-tick.C:
		}
	}
}

// catchUp waits until the newest frame is as new as what the client has seen from another replica, or until the records have to be
// checked again. Before that, the client would get states that are older than what it has. It returns false when ctx has ended.
func (w *watcher[T]) catchUp(ctx context.Context) bool {
	w.isForeign = !w.store.waitForFacts(ctx, &w.query, w.has.at().Add(clockSkew), recheckEvery) &&
		w.store.clock().Before(w.catchUpUntil)
	return ctx.Err() == nil
}

// checkUsable returns an error if the watch cannot continue with the newest frame. A cluster that
// has not been read yet does not end the watch.
func (w *watcher[T]) checkUsable(newest *frame[T]) error {
	policy := func(f *frame[T]) map[ClusterRef]clusterRecords[T] {
		out := map[ClusterRef]clusterRecords[T]{}
		for _, p := range f.clusters {
			if w.query.criteria.covers(p.ref) {
				out[p.ref] = clusterRecords[T]{prefix: p.prefix, private: p.private}
			}
		}
		return out
	}
	before := policy(w.sent)
	for h, p := range policy(newest) {
		if q, ok := before[h]; ok && (p.private != q.private || p.prefix != q.prefix) || !ok && p.private {
			return apierrors.NewResourceExpired("PrivateData has changed since the watch began: list again")
		}
	}
	return w.store.checkFresh(func(h ClusterRef) bool {
		p := newest.cluster(h)
		return p != nil && p.known && w.query.criteria.covers(h)
	})
}

// sendState sends all records of the first frame, and then a bookmark if the client requested it.
func (w *watcher[T]) sendState(ctx context.Context) bool {
	for _, p := range w.sent.clusters {
		if !w.query.criteria.covers(p.ref) {
			continue
		}
		for _, t := range p.records {
			if w.isShown(p, t) && !w.send(ctx, w.event(watch.Added, p, t, w.sent.version)) {
				return false
			}
		}
	}
	if !w.marksEndOfState {
		return true
	}
	return w.bookmark(ctx, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

// sendChanges sends the changes from the last sent frame to the newest one.
func (w *watcher[T]) sendChanges(ctx context.Context, newest *frame[T]) bool {
	if !w.quietFrom.IsZero() && !w.store.clock().Before(w.quietFrom) {
		return true // its client comes back with the same version
	}
	var changes []change[T]
	switch {
	case w.shown != nil:
		changes = changesFromPeer(w.store.resource, w.shown, w.sent, newest)
	case newest.version == w.sent.version:
		if w.has.replica() != w.store.timeline.replica {
			w.has = max(w.has, w.store.timeline.versionOfState(newest))
		}
		return true
	case w.has.isPartial() || w.has.replica() != w.store.timeline.replica:
		changes = w.store.timeline.changesBetween(w.sent, newest)
	case newest.before == w.sent.version:
		changes = newest.changes
	default:
		changes = changesOf(w.store.resource, w.sent.clusters, newest.clusters)
	}
	// A client that breaks among the first changes after what another replica has shown has facts of both: it lists again.
	before, after := w.has.partial(), newest.version
	if w.has.replica() != w.store.timeline.replica {
		before, after = w.has.unusable(w.store.timeline.replica), w.store.timeline.versionOfState(newest)
		if after <= before {
			return true // there is a newer frame already
		}
	}
	w.shown = nil
	// Only the last event has the version of the newest frame: a client whose watch breaks before it still needs the rest.
	var last *watch.Event
	for _, c := range changes {
		kind, t := w.classify(c)
		if t == nil {
			continue
		}
		if last != nil && !w.send(ctx, *last) {
			return false
		}
		if c.ownerUnknown && c.cluster.private && !w.query.viewer.viewAll[c.cluster.ref] {
			w.send(ctx, watch.Event{Type: watch.Error, Object: statusOf(newExpired(w.has))})
			return false
		}
		e := w.event(kind, c.cluster, t, before)
		last = &e
	}
	if last != nil {
		setVersion(last.Object, after)
		if !w.send(ctx, *last) {
			return false
		}
	}
	w.sent, w.has = newest, after
	return true
}

// sendBookmark sends a bookmark if the client asked for them and it is time for one. It is sent without changes too, so that a client
// that comes back, perhaps to another replica, has a version that is still known there.
func (w *watcher[T]) sendBookmark(ctx context.Context) bool {
	if now := w.store.clock(); w.bookmarks && w.has.replica() == w.store.timeline.replica && now.Sub(w.lastBookmark) >= bookmarkEvery {
		w.lastBookmark = now
		return w.bookmark(ctx, nil)
	}
	return true
}

// classify returns the event for a change. A record that becomes selected is added, and one that
// is no longer selected is deleted. The record is nil if there is no event.
func (w *watcher[T]) classify(c change[T]) (watch.EventType, *T) {
	if !w.query.criteria.covers(c.cluster.ref) {
		return "", nil
	}
	was, is := c.old != nil && w.isShown(c.cluster, c.old), c.now != nil && w.isShown(c.cluster, c.now)
	if c.guessed && !is {
		// The client may have the record though neither of the two is selected, but nothing that it may not see.
		if r := cmp.Or(c.now, c.old); w.isNamed(c.cluster, r) && (c.ownerUnknown || w.store.sees(w.query.viewer, c.cluster, r)) {
			return watch.Deleted, r
		}
		return "", nil
	}
	switch {
	case was && is:
		return watch.Modified, c.now
	case is:
		return watch.Added, c.now
	case was:
		return watch.Deleted, c.old
	}
	return "", nil
}

func (w *watcher[T]) isShown(p *clusterRecords[T], t *T) bool {
	return w.isNamed(p, t) && w.store.sees(w.query.viewer, p, t) && w.query.criteria.matches(p.ref, t)
}

// isNamed reports whether the query is for the name of the record's object, or for any.
func (w *watcher[T]) isNamed(p *clusterRecords[T], t *T) bool {
	name := w.query.criteria.name
	return name == "" || name == p.prefix+w.store.resource.key(t)
}

func (w *watcher[T]) event(kind watch.EventType, p *clusterRecords[T], t *T, v version) watch.Event {
	return watch.Event{Type: kind, Object: w.store.resource.newObject(p.placement(v), t)}
}

func (w *watcher[T]) bookmark(ctx context.Context, annotations map[string]string) bool {
	o := w.store.resource.newEmpty()
	if m, ok := o.(metav1.Object); ok {
		w.has = max(w.has, w.store.timeline.versionOfState(w.sent))
		m.SetResourceVersion(w.has.String())
		m.SetAnnotations(annotations)
	}
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: o})
}

func setVersion(o runtime.Object, v version) {
	if m, ok := o.(metav1.Object); ok {
		m.SetResourceVersion(v.String())
	}
}

// send reports whether the client took the event before ctx ended.
func (w *watcher[T]) send(ctx context.Context, e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// statusOf converts an error to the object of an event.
func statusOf(err error) runtime.Object {
	if status, ok := err.(apierrors.APIStatus); ok {
		s := status.Status()
		return &s
	}
	s := apierrors.NewInternalError(err).Status()
	return &s
}
