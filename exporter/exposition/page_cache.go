package exposition

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// DefaultRenderAhead is how long after a scrape new snapshots are rendered immediately.
const DefaultRenderAhead = 5 * time.Minute

// PageCache holds the page of the newest snapshot. It renders a snapshot immediately after a recent scrape, and on
// demand otherwise. Regular scrapes therefore do not wait, and an exporter without scrapes does not render.
type PageCache struct {
	now         func() time.Time
	renderAhead time.Duration

	newest atomic.Pointer[slurmclient.Snapshot]
	page   atomic.Pointer[page]
	// scraped is when a page was last served, in Unix nanoseconds.
	scraped atomic.Int64
	// renderingAhead is true while the newest snapshot is being rendered ahead of a scrape.
	renderingAhead atomic.Bool

	mu          sync.Mutex // held while rendering
	renderer    *Renderer
	newRenderer func() *Renderer
}

// NewPageCache returns an empty cache. For renderAhead see pageCache; 0 means DefaultRenderAhead
// and a negative value disables rendering ahead. fresh returns a renderer without state.
func NewPageCache(now func() time.Time, renderAhead time.Duration, fresh func() *Renderer) *PageCache {
	p := &PageCache{now: now, renderAhead: renderAhead, renderer: fresh(), newRenderer: fresh}
	if p.renderAhead == 0 {
		p.renderAhead = DefaultRenderAhead
	}
	return p
}

// SetSnapshot stores the newest snapshot, and renders it if there was a recent scrape.
func (p *PageCache) SetSnapshot(s *slurmclient.Snapshot) {
	if !p.hasRecentScrape() {
		p.newest.Store(s)
		p.releasePage()
		return
	}
	p.renderingAhead.Store(true)
	defer p.renderingAhead.Store(false)
	p.newest.Store(s)
	p.render()
}

// Current returns the page of the newest snapshot, the previous page while the newest snapshot
// is being rendered ahead, or nil if there is no snapshot yet. It blocks while it renders a
// snapshot that was not rendered ahead.
func (p *PageCache) Current() *page {
	newest, last := p.newest.Load(), p.page.Load()
	if last != nil && (last.View.Snapshot == newest || p.renderingAhead.Load()) {
		return last
	}
	if newest == nil {
		return nil
	}
	return p.render()
}

// NewestSnapshot returns the newest snapshot, or nil before the first one.
func (p *PageCache) NewestSnapshot() *slurmclient.Snapshot { return p.newest.Load() }

// LastPage returns the page that was rendered last, or nil. It does not block.
func (p *PageCache) LastPage() *page { return p.page.Load() }

// RecordScrape records that a page was served now.
func (p *PageCache) RecordScrape() { p.scraped.Store(p.now().UnixNano()) }

func (p *PageCache) hasRecentScrape() bool {
	at := p.scraped.Load()
	return at != 0 && p.now().Sub(time.Unix(0, at)) <= p.renderAhead
}

// render returns the page of the newest snapshot. Concurrent callers wait for one rendering.
func (p *PageCache) render() *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := p.newest.Load()
	if last := p.page.Load(); last != nil && last.View.Snapshot == newest {
		return last
	}
	next := p.renderer.Render(p.now(), newest)
	p.page.Store(next)
	return next
}

// releasePage frees the page of an older snapshot, unless a page is being rendered.
func (p *PageCache) releasePage() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.page.Swap(nil) != nil {
		p.renderer = p.newRenderer()
	}
}
