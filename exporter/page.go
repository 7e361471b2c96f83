package exporter

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// section is the exposition of one collector.
type section struct {
	name     string
	set      Set
	families []renderedFamily
	// took is how long rendering took; series is the number of samples.
	took   time.Duration
	series int
	// failed is true if rendering panicked; the families are then those rendered before.
	failed bool
}

// renderedFamily is the exposition of a family: its HELP and TYPE lines and its samples.
type renderedFamily struct {
	name    string
	head    fragment
	samples []fragment
}

// page is the exposition of a snapshot. It is immutable once published.
type page struct {
	view     *snapshotView
	sections []section
}

// renderer renders pages and reuses the sections whose resources have not changed. Only one
// goroutine may use it at a time.
type renderer struct {
	collectors []collector
	labels     constLabels
	views      viewCache
	compressor *compressor
	history    *jobHistory
	panics     *panicCounter
	last       *page
	renderedAt []time.Time // of each section
}

// render returns the page of a snapshot.
func (r *renderer) render(now time.Time, s *slurmclient.Snapshot) *page {
	v := r.views.viewOf(now, s)
	p := &page{view: v, sections: make([]section, len(r.collectors))}
	if r.renderedAt == nil {
		r.renderedAt = make([]time.Time, len(r.collectors))
	}
	for i := range r.collectors {
		if r.last != nil && !r.isStale(i, now, s) {
			p.sections[i] = r.last.sections[i]
			continue
		}
		p.sections[i] = r.renderGuarded(i, v)
		r.renderedAt[i] = now
	}
	r.last = p
	return p
}

// isStale reports whether a section must be rendered again.
func (r *renderer) isStale(i int, now time.Time, s *slurmclient.Snapshot) bool {
	c := r.collectors[i]
	if c.timeDependent && now.Sub(r.renderedAt[i]) >= demandMaxAge {
		return true
	}
	return slices.ContainsFunc(c.needs,
		func(res slurmclient.Resource) bool { return hasChanged(r.last.view.Snapshot, s, res) })
}

// renderGuarded renders a section. If rendering panics, it returns the previous section, marked
// as failed.
func (r *renderer) renderGuarded(i int, v *snapshotView) (out section) {
	c := r.collectors[i]
	if r.panics.guard(stageRender, c.name, func() { out = r.renderSection(c, v) }) {
		return out
	}
	out = section{name: c.name, set: c.set}
	if r.last != nil {
		out = r.last.sections[i]
	}
	out.failed = true
	return out
}

func (r *renderer) renderSection(c collector, v *snapshotView) section {
	begin := time.Now()
	out := section{name: c.name, set: c.set}
	for _, f := range c.families {
		shown, n := r.renderFamily(f, v)
		out.families = append(out.families, shown)
		out.series += n
	}
	if c.hasJobHistory {
		out.families = append(out.families, r.history.families(r.labels)...)
	}
	out.took = time.Since(begin)
	return out
}

func (r *renderer) renderFamily(f family, v *snapshotView) (renderedFamily, int) {
	lines := newSamples(f, r.labels)
	f.values(v, lines)
	text, open := f.formatHeads()
	return renderedFamily{
		name:    f.name,
		head:    fragment{text: [formatCount][]byte{[]byte(text), []byte(open)}},
		samples: []fragment{{body: lines.buf, compressed: r.compressor.compress(lines.buf)}},
	}, lines.count
}

// selectFamilies returns the families of the sections that want accepts. It omits names of
// earlier sections, because an exposition may contain a name only once.
func (p *page) selectFamilies(want func(section) bool) []renderedFamily {
	seen := map[string]bool{}
	var out []renderedFamily
	for _, s := range p.sections {
		if !want(s) {
			continue
		}
		for _, f := range s.families {
			if !seen[f.name] {
				seen[f.name] = true
				out = append(out, f)
			}
		}
	}
	return out
}
