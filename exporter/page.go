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
	families []shownFamily
	// took is how long rendering took; series is the number of samples.
	took   time.Duration
	series int
	// failed is true if rendering panicked; the families are then those rendered before.
	failed bool
}

// renderedFamily is the exposition of a family: its HELP and TYPE lines and its samples.
type shownFamily struct {
	name    string
	head    piece
	samples []piece
}

// page is the exposition of a snapshot. It is immutable once published.
type page struct {
	view     *view
	sections []section
}

// renderer renders pages and reuses the sections whose resources have not changed. Only one
// goroutine may use it at a time.
type renderer struct {
	collectors []collector
	labels     constLabels
	viewer     viewer
	packer     *packer
	observed   *observed
	panics     *panics
	last       *page
	rendered   []time.Time // of each section
}

// render returns the page of a snapshot.
func (r *renderer) render(now time.Time, s *slurmclient.Snapshot) *page {
	v := r.viewer.view(now, s)
	p := &page{view: v, sections: make([]section, len(r.collectors))}
	if r.rendered == nil {
		r.rendered = make([]time.Time, len(r.collectors))
	}
	for i := range r.collectors {
		if r.last != nil && !r.stale(i, now, s) {
			p.sections[i] = r.last.sections[i]
			continue
		}
		p.sections[i] = r.guarded(i, v)
		r.rendered[i] = now
	}
	r.last = p
	return p
}

// isStale reports whether a section must be rendered again.
func (r *renderer) stale(i int, now time.Time, s *slurmclient.Snapshot) bool {
	c := r.collectors[i]
	if c.clocked && now.Sub(r.rendered[i]) >= demandLife {
		return true
	}
	return slices.ContainsFunc(c.needs,
		func(res slurmclient.Resource) bool { return differs(r.last.view.Snapshot, s, res) })
}

// renderGuarded renders a section. If rendering panics, it returns the previous section, marked
// as failed.
func (r *renderer) guarded(i int, v *view) (out section) {
	c := r.collectors[i]
	if r.panics.guard(stageRender, c.name, func() { out = r.section(c, v) }) {
		return out
	}
	out = section{name: c.name, set: c.set}
	if r.last != nil {
		out = r.last.sections[i]
	}
	out.failed = true
	return out
}

func (r *renderer) section(c collector, v *view) section {
	begin := time.Now()
	out := section{name: c.name, set: c.set}
	for _, f := range c.families {
		shown, n := r.family(f, v)
		out.families = append(out.families, shown)
		out.series += n
	}
	if c.observes {
		out.families = append(out.families, r.observed.families(r.labels)...)
	}
	out.took = time.Since(begin)
	return out
}

func (r *renderer) family(f family, v *view) (shownFamily, int) {
	lines := newSamples(f, r.labels)
	f.values(v, lines)
	text, open := f.heads()
	return shownFamily{
		name:    f.name,
		head:    piece{text: [formats][]byte{[]byte(text), []byte(open)}},
		samples: []piece{{body: lines.buf, packed: r.packer.pack(lines.buf)}},
	}, lines.count
}

// selectFamilies returns the families of the sections that want accepts. It omits names of
// earlier sections, because an exposition may contain a name only once.
func (p *page) choose(want func(section) bool) []shownFamily {
	seen := map[string]bool{}
	var out []shownFamily
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
