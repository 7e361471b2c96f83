package exposition

import (
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// testPageCache is a page cache of one family, with a clock and a count of renderings.
type testPageCache struct {
	*PageCache
	clock    time.Time
	rendered int
	// during is called in every rendering.
	during func()
}

func newTestPageCache(ahead time.Duration) *testPageCache {
	b := &testPageCache{clock: exportertest.Epoch, during: func() {}}
	counting := Family{"counted", Gauge, "Renderings.", nil, func(*tally.View, *Samples) {
		b.rendered++
		b.during()
	}}
	c := Collector{Name: "counted", Needs: []slurmclient.Resource{slurmclient.Nodes}, Families: []Family{counting}}
	b.PageCache = NewPageCache(func() time.Time { return b.clock }, ahead, func() *Renderer {
		none := NewPanicCounter(nil)
		return &Renderer{Collectors: []Collector{c}, Panics: none,
			Views: ViewCache{Panics: none, Compute: CachedDemand()}}
	})
	return b
}

// publish sets a snapshot whose nodes have changed.
func (b *testPageCache) publish(sequence uint64) *slurmclient.Snapshot {
	s := exportertest.SmallCluster()
	s.Sequence, s.Nodes.Sequence = sequence, sequence
	b.SetSnapshot(s)
	return s
}

// scrape returns the snapshot that is shown, and records a scrape.
func (b *testPageCache) scrape() *slurmclient.Snapshot {
	p := b.Current()
	b.RecordScrape()
	return p.View.Snapshot
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
		{"every snapshot after a scrape", 0,
			func(b *testPageCache) { b.publish(1); b.scrape(); b.publish(2); b.publish(3) }, 3},
		{"no snapshot long after the last scrape", 0, func(b *testPageCache) {
			b.publish(1)
			b.scrape()
			b.clock = b.clock.Add(DefaultRenderAhead + 1)
			b.publish(2)
		}, 1},
		{"no snapshot ahead of a scrape if that is disabled", -1,
			func(b *testPageCache) { b.publish(1); b.scrape(); b.publish(2) }, 1},
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
	if p := b.Current(); p != nil {
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
		wg.Go(func() { b.Current() })
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
