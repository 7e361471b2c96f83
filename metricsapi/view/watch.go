package view

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/slurmtide/slurmtide/slurmclient"
)

const (
	// recheckEvery is how often a watch checks that its records are not too old.
	recheck = 5 * time.Second
	// bookmarkEvery is the minimum time between two bookmarks. A client whose watch breaks
	// continues from the last bookmark if its frame is still kept.
	bookmarkEvery = 30 * time.Second
)

// watcher sends events to one client.
type watcher[T any] struct {
	store  *store[T]
	asked  asked[T]
	out    chan watch.Event
	cancel context.CancelFunc

	have       *frame[T]
	initial    bool // whether all records of the first frame are sent at the beginning
	endOfState bool // whether a bookmark follows them
	bookmarks  bool
	markedAt   time.Time
}

// Watch implements rest.Watcher. If the records become too old, or PrivateData changes, the watch
// ends with an error, and clients list again.
func (s *store[T]) Watch(ctx context.Context, opts *internalversion.ListOptions) (watch.Interface, error) {
	if opts == nil {
		opts = &internalversion.ListOptions{}
	}
	a, err := s.ask(ctx, opts)
	if err != nil {
		return nil, err
	}
	w := &watcher[T]{store: s, asked: a, out: make(chan watch.Event), bookmarks: opts.AllowWatchBookmarks,
		markedAt: s.clock()}
	if err := w.start(opts); err != nil {
		return nil, err
	}
	if w.initial { // otherwise the preceding list had the warning
		s.warn(ctx, a.viewer)
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		if err := slurmclient.Guard("watching "+s.noun.resource, func() { w.run(ctx) }); err != nil {
			s.line.failed("", err)
		}
	}()
	return w, nil
}

// start determines the frame at which the watch begins.
func (w *watcher[T]) start(opts *internalversion.ListOptions) error {
	asked, err := parseVersion(opts.ResourceVersion)
	if err != nil {
		return err
	}
	newest := w.asked.newest
	w.have = newest
	if send := opts.SendInitialEvents; send != nil && *send {
		if asked > newest.version {
			return storage.NewTooLargeResourceVersionError(asked, newest.version, 1)
		}
		w.initial, w.endOfState = true, w.bookmarks
		return nil
	}
	if asked == 0 {
		w.initial = opts.SendInitialEvents == nil
		return nil
	}
	if w.have = w.store.line.at(asked); w.have == nil {
		return expired(opts.ResourceVersion)
	}
	return nil
}

// Stop implements watch.Interface.
func (w *watcher[T]) Stop() { w.cancel() }

// ResultChan implements watch.Interface. It is closed when the watch has ended.
func (w *watcher[T]) ResultChan() <-chan watch.Event { return w.out }

// run sends events until ctx ends or the watch cannot continue.
func (w *watcher[T]) run(ctx context.Context) {
	defer close(w.out)
	defer w.cancel()
	if w.initial && !w.sendState(ctx) {
		return
	}
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		newest, moved := w.store.line.latest()
		if err := w.usable(newest); err != nil {
			w.send(ctx, watch.Event{Type: watch.Error, Object: statusOf(err)})
			return
		}
		if !w.sendChanges(ctx, newest) {
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

// checkUsable returns an error if the watch cannot continue with the newest frame. A cluster that
// has not been read yet does not end the watch.
func (w *watcher[T]) usable(newest *frame[T]) error {
	policy := func(f *frame[T]) map[Home]part[T] {
		out := map[Home]part[T]{}
		for _, p := range f.parts {
			if w.asked.criteria.covers(p.home) {
				out[p.home] = part[T]{prefix: p.prefix, private: p.private}
			}
		}
		return out
	}
	before := policy(w.have)
	for h, p := range policy(newest) {
		if q, ok := before[h]; ok && (p.private != q.private || p.prefix != q.prefix) || !ok && p.private {
			return apierrors.NewResourceExpired("PrivateData has changed since the watch began: list again")
		}
	}
	return w.store.fresh(func(h Home) bool {
		p := newest.part(h)
		return p != nil && p.known && w.asked.criteria.covers(h)
	})
}

// sendState sends all records of the first frame, and then a bookmark if the client requested it.
func (w *watcher[T]) sendState(ctx context.Context) bool {
	for _, p := range w.have.parts {
		if !w.asked.criteria.covers(p.home) {
			continue
		}
		for _, t := range p.items {
			if w.shown(p, t) && !w.send(ctx, w.event(watch.Added, p, t, w.have.version)) {
				return false
			}
		}
	}
	if !w.endOfState {
		return true
	}
	return w.bookmark(ctx, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

// sendChanges sends the changes from the last sent frame to the newest one.
func (w *watcher[T]) sendChanges(ctx context.Context, newest *frame[T]) bool {
	if newest.version == w.have.version {
		return true
	}
	changes := newest.changes
	if newest.before != w.have.version {
		changes = changesOf(w.store.noun, w.have.parts, newest.parts)
	}
	for _, c := range changes {
		if kind, t := w.judge(c); t != nil && !w.send(ctx, w.event(kind, c.in, t, newest.version)) {
			return false
		}
	}
	w.have = newest
	if now := w.store.clock(); w.bookmarks && now.Sub(w.markedAt) >= bookmarkEvery {
		w.markedAt = now
		return w.bookmark(ctx, nil)
	}
	return true
}

// classify returns the event for a change. A record that becomes selected is added, and one that
// is no longer selected is deleted. The record is nil if there is no event.
func (w *watcher[T]) judge(c change[T]) (watch.EventType, *T) {
	if !w.asked.criteria.covers(c.in.home) {
		return "", nil
	}
	was, is := c.old != nil && w.shown(c.in, c.old), c.now != nil && w.shown(c.in, c.now)
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

func (w *watcher[T]) shown(p *part[T], t *T) bool {
	c := &w.asked.criteria
	return (c.name == "" || c.name == p.prefix+w.store.noun.key(t)) && w.store.sees(w.asked.viewer, p,
		t) && c.matches(p.home, t)
}

func (w *watcher[T]) event(kind watch.EventType, p *part[T], t *T, version uint64) watch.Event {
	return watch.Event{Type: kind, Object: w.store.noun.object(p.setting(version), t)}
}

func (w *watcher[T]) bookmark(ctx context.Context, annotations map[string]string) bool {
	o := w.store.noun.empty()
	if m, ok := o.(metav1.Object); ok {
		m.SetResourceVersion(version(w.have.version))
		m.SetAnnotations(annotations)
	}
	return w.send(ctx, watch.Event{Type: watch.Bookmark, Object: o})
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
