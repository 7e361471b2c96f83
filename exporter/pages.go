package exporter

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// DefaultRenderAhead is how long after a scrape new snapshots are rendered immediately.
const DefaultRenderAhead = 5 * time.Minute

// pageCache holds the page of the newest snapshot. It renders a snapshot immediately if there
// was a recent scrape, and on demand otherwise: regular scrapes do not wait, and an exporter
// that nobody scrapes does not render.
type pages struct {
	now   func() time.Time
	ahead time.Duration

	newest atomic.Pointer[slurmclient.Snapshot]
	page   atomic.Pointer[page]
	// scraped is when a page was last served, in Unix nanoseconds.
	scraped atomic.Int64
	// renderingAhead is true while the newest snapshot is being rendered ahead of a scrape.
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

// setSnapshot stores the newest snapshot, and renders it if there was a recent scrape.
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

// current returns the page of the newest snapshot, the previous page while the newest snapshot
// is being rendered ahead, or nil if there is no snapshot yet. It blocks while it renders a
// snapshot that was not rendered ahead.
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

// recordScrape records that a page was served now.
func (p *pages) served() { p.scraped.Store(p.now().UnixNano()) }

func (p *pages) awaited() bool {
	at := p.scraped.Load()
	return at != 0 && p.now().Sub(time.Unix(0, at)) <= p.ahead
}

// render returns the page of the newest snapshot. Concurrent callers wait for one rendering.
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

// releasePage frees the page of an older snapshot, unless a page is being rendered.
func (p *pages) forget() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.page.Swap(nil) != nil {
		p.renderer = p.fresh()
	}
}
