package exporter

import (
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// testPageCache is a page cache of one family, with a clock and a count of renderings.
type testPageCache struct {
	*pageCache
	clock    time.Time
	rendered int
	// during is called in every rendering.
	during func()
}

func newTestPageCache(ahead time.Duration) *testPageCache {
	b := &testPageCache{clock: epoch, during: func() {}}
	counting := family{"counted", gauge, "Renderings.", nil, func(*snapshotView, *samples) {
		b.rendered++
		b.during()
	}}
	c := collector{name: "counted", needs: []slurmclient.Resource{slurmclient.Nodes}, families: []family{counting}}
	b.pageCache = newPageCache(Config{Now: func() time.Time { return b.clock }, RenderAhead: ahead}, func() *renderer {
		none := newPanicCounter(nil)
		return &renderer{collectors: []collector{c}, compressor: newCompressor(), panics: none, views: viewCache{panics: none, compute: cachedDemand()}}
	})
	return b
}

// publish sets a snapshot whose nodes have changed.
func (b *testPageCache) publish(sequence uint64) *slurmclient.Snapshot {
	s := smallCluster()
	s.Sequence, s.Nodes.Sequence = sequence, sequence
	b.setSnapshot(s)
	return s
}

// scrape returns the snapshot that is shown, and records a scrape.
func (b *testPageCache) scrape() *slurmclient.Snapshot {
	p := b.current()
	b.recordScrape()
	return p.view.Snapshot
}

func TestPagesAreRenderedOnDemandAndAhead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		ahead time.Duration
		run   func(b *testPageCache)
		want  int
	}{
		{"no snapshot without a scrape", 0, func(b *testPageCache) { b.publish(1); b.publish(2) }, 0},
		{"the newest snapshot at a scrape", 0, func(b *testPageCache) { b.publish(1); b.publish(2); b.scrape() }, 1},
		{"each snapshot once", 0, func(b *testPageCache) { b.publish(1); b.scrape(); b.scrape() }, 1},
		{"every snapshot after a scrape", 0, func(b *testPageCache) { b.publish(1); b.scrape(); b.publish(2); b.publish(3) }, 3},
		{"no snapshot long after the last scrape", 0, func(b *testPageCache) {
			b.publish(1)
			b.scrape()
			b.clock = b.clock.Add(DefaultRenderAhead + 1)
			b.publish(2)
		}, 1},
		{"no snapshot ahead of a scrape if that is disabled", -1, func(b *testPageCache) { b.publish(1); b.scrape(); b.publish(2) }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTestPageCache(tc.ahead)
			tc.run(b)
			if b.rendered != tc.want {
				t.Errorf("rendered %d times, want %d", b.rendered, tc.want)
			}
		})
	}
}

func TestAScrapeAlwaysShowsTheNewestSnapshot(t *testing.T) {
	b := newTestPageCache(0)
	if p := b.current(); p != nil {
		t.Error("there is a page without a snapshot")
	}
	for i, pause := range []time.Duration{0, time.Second, DefaultRenderAhead + 1, DefaultRenderAhead + 1, 0} {
		b.clock = b.clock.Add(pause)
		b.publish(uint64(3*i + 1))
		want := b.publish(uint64(3*i + 2))
		if got := b.scrape(); got != want {
			t.Errorf("scrape %d shows snapshot %d, want %d", i, got.Sequence, want.Sequence)
		}
	}
}

func TestAPageThatNobodyScrapesIsFreed(t *testing.T) {
	b := newTestPageCache(0)
	b.publish(1)
	b.scrape()
	b.clock = b.clock.Add(DefaultRenderAhead + 1)
	b.publish(2)
	if b.page.Load() != nil || b.renderer.last != nil {
		t.Error("the last page is not freed")
	}
}

func TestScrapesAtOnceRenderOnce(t *testing.T) {
	b := newTestPageCache(0)
	b.publish(1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { b.current() })
	}
	wg.Wait()
	if b.rendered != 1 {
		t.Errorf("rendered %d times", b.rendered)
	}
}

func TestAScrapeDoesNotWaitForWhatIsRenderedAhead(t *testing.T) {
	b := newTestPageCache(0)
	first := b.publish(1)
	b.scrape()
	begun, end := make(chan struct{}), make(chan struct{})
	b.during = func() { close(begun); <-end }
	var wg sync.WaitGroup
	wg.Go(func() { b.publish(2) })
	<-begun
	if got := b.scrape(); got != first {
		t.Errorf("it shows snapshot %d", got.Sequence)
	}
	close(end)
	wg.Wait()
	if got := b.scrape(); got.Sequence != 2 {
		t.Errorf("afterwards it shows snapshot %d", got.Sequence)
	}
}
