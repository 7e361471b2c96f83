package exposition

import (
	"bytes"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/memo"
)

// Section is the exposition of one collector.
type Section struct {
	name     string
	set      Set
	Families []RenderedFamily
	// Took is how long rendering took; Series is the number of samples.
	Took   time.Duration
	Series int
	// Failed is true if rendering panicked; the families are then the earlier ones.
	Failed bool
}

// RenderedFamily is the exposition of a family: its HELP and TYPE lines and its samples.
type RenderedFamily struct {
	name    string
	head    fragment
	samples []fragment
}

// countSamples returns the number of samples of a gathered family.
func (f RenderedFamily) countSamples() (n int) {
	for _, s := range f.samples {
		n += bytes.Count(s.text[textFormat], []byte{'\n'})
	}
	return n
}

// page is the exposition of a snapshot. It is immutable once published.
type page struct {
	View     *tally.View
	Sections []Section
}

// Renderer renders pages and reuses the sections whose resources have not changed. Only one
// goroutine may use it at a time.
type Renderer struct {
	Collectors []Collector
	Labels     ConstLabels
	Views      ViewCache
	// Histories are by the name of the collector that shows them.
	Histories  map[string]History
	Panics     *PanicCounter
	compressor *compressor
	last       *page
	renderedAt []time.Time // of each section
}

// Render returns the page of a snapshot.
func (r *Renderer) Render(now time.Time, s *slurmclient.Snapshot) *page {
	v := r.Views.viewOf(now, s)
	p := &page{View: v, Sections: make([]Section, len(r.Collectors))}
	if r.compressor == nil {
		r.compressor = newCompressor()
	}
	if r.renderedAt == nil {
		r.renderedAt = make([]time.Time, len(r.Collectors))
	}
	for i := range r.Collectors {
		if r.last != nil && !r.isStale(i, now, s) {
			p.Sections[i] = r.last.Sections[i]
			continue
		}
		p.Sections[i] = r.renderGuarded(i, v)
		r.renderedAt[i] = now
	}
	r.last = p
	return p
}

// isStale reports whether a section must be rendered again.
func (r *Renderer) isStale(i int, now time.Time, s *slurmclient.Snapshot) bool {
	c := r.Collectors[i]
	if c.TimeDependent && now.Sub(r.renderedAt[i]) >= memo.MaxAge {
		return true
	}
	return slices.ContainsFunc(c.Needs, func(res slurmclient.Resource) bool {
		if c.CountsTime && !tally.PollOf(r.last.View.Snapshot, res).ReadAt.Equal(tally.PollOf(s, res).ReadAt) {
			return true
		}
		return tally.HasChanged(r.last.View.Snapshot, s, res)
	})
}

// renderGuarded renders a section. If rendering panics, it returns the previous section, marked
// as failed.
func (r *Renderer) renderGuarded(i int, v *tally.View) (out Section) {
	c := r.Collectors[i]
	if r.Panics.Guard(stageRender, c.Name, func() { out = r.renderSection(c, v) }) {
		return out
	}
	out = Section{name: c.Name, set: c.Set}
	if r.last != nil {
		out = r.last.Sections[i]
	}
	out.Failed = true
	return out
}

func (r *Renderer) renderSection(c Collector, v *tally.View) Section {
	begin := time.Now()
	out := Section{name: c.Name, set: c.Set}
	for _, f := range c.Families {
		shown, n := r.renderFamily(f, v)
		out.Families = append(out.Families, shown)
		out.Series += n
	}
	if h, ok := r.Histories[c.Name]; ok {
		shown := h.Families(r.Labels)
		out.Families = append(out.Families, shown...)
		for _, f := range shown {
			out.Series += f.countSamples()
		}
	}
	out.Took = time.Since(begin)
	return out
}

func (r *Renderer) renderFamily(f Family, v *tally.View) (RenderedFamily, int) {
	lines := newSamples(f, r.Labels)
	f.Values(v, lines)
	text, open := f.formatHeads()
	return RenderedFamily{
		name:    f.Name,
		head:    fragment{text: [textFormatCount][]byte{[]byte(text), []byte(open)}},
		samples: []fragment{{body: lines.buf, compressed: r.compressor.compress(lines.buf)}},
	}, lines.count
}

// SelectFamilies returns the families of the sections that want accepts. It omits names of
// earlier sections, because an exposition may contain a name only once.
func (p *page) SelectFamilies(want func(Section) bool) []RenderedFamily {
	seen := map[string]bool{}
	var out []RenderedFamily
	for _, s := range p.Sections {
		if !want(s) {
			continue
		}
		for _, f := range s.Families {
			if !seen[f.name] {
				seen[f.name] = true
				out = append(out, f)
			}
		}
	}
	return out
}
