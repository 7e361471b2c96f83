package exporter

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// DefaultRenderAhead is how long after a scrape snapshots are rendered without
// being asked for.
const DefaultRenderAhead = 5 * time.Minute

// pages has the page of the newest snapshot, and renders it when it is asked for or
// when somebody has scraped of late, so that whoever scrapes regularly finds it
// ready and nobody's processor time is spent where nobody scrapes.
type pages struct {
	now   func() time.Time
	ahead time.Duration

	newest atomic.Pointer[slurmclient.Snapshot]
	page   atomic.Pointer[page]
	// scraped is when a page was last served, in Unix nanoseconds.
	scraped atomic.Int64
	// coming is true while the newest snapshot is being rendered though nobody asked.
	coming atomic.Bool

	mu       sync.Mutex // held while rendering
	renderer *renderer
	fresh    func() *renderer
}

func newPages(cfg Config, fresh func() *renderer) *pages {
	p := &pages{now: cfg.Now, ahead: cfg.RenderAhead, renderer: fresh(), fresh: fresh}
	if p.ahead == 0 {
		p.ahead = DefaultRenderAhead
	}
	return p
}

// take notes the newest snapshot, and renders it if somebody has scraped of late.
func (p *pages) take(s *slurmclient.Snapshot) {
	if !p.awaited() {
		p.newest.Store(s)
		p.forget()
		return
	}
	p.coming.Store(true)
	defer p.coming.Store(false)
	p.newest.Store(s)
	p.render()
}

// current returns the page of the newest snapshot, or the last one while the newest is
// being rendered ahead; nil when there is no snapshot yet. It waits for a rendering
// where nothing was rendered ahead.
func (p *pages) current() *page {
	newest, last := p.newest.Load(), p.page.Load()
	if last != nil && (last.view.Snapshot == newest || p.coming.Load()) {
		return last
	}
	if newest == nil {
		return nil
	}
	return p.render()
}

// served notes that somebody wants pages.
func (p *pages) served() { p.scraped.Store(p.now().UnixNano()) }

func (p *pages) awaited() bool {
	at := p.scraped.Load()
	return at != 0 && p.now().Sub(time.Unix(0, at)) <= p.ahead
}

// render returns the page of the newest snapshot. Who comes while it is being
// rendered waits for it.
func (p *pages) render() *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := p.newest.Load()
	if last := p.page.Load(); last != nil && last.view.Snapshot == newest {
		return last
	}
	next := p.renderer.render(p.now(), newest)
	p.page.Store(next)
	return next
}

// forget frees what was rendered of older snapshots, unless somebody is at it.
func (p *pages) forget() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.page.Swap(nil) != nil {
		p.renderer = p.fresh()
	}
}
