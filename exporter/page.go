package exporter

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// section is the exposition of one collector.
type section struct {
	name string
	set  Set
	// pieces has one for each family.
	pieces []namedPiece
	// took is how long it took to render, series how many samples the families have.
	took   time.Duration
	series int
}

type namedPiece struct {
	family string
	piece
}

// page is the exposition of a snapshot. It is not changed once published.
type page struct {
	view     *view
	sections []section
}

// renderer makes pages, and takes over the sections whose sources have not
// changed. It is for one goroutine.
type renderer struct {
	collectors []collector
	viewer     viewer
	packer     *packer
	observed   *observed
	last       *page
	rendered   []time.Time // when each section was
}

// render returns the page of a snapshot.
func (r *renderer) render(now time.Time, s *slurmclient.Snapshot) *page {
	v := r.viewer.view(now, s)
	p := &page{view: v, sections: make([]section, len(r.collectors))}
	if r.rendered == nil {
		r.rendered = make([]time.Time, len(r.collectors))
	}
	for i, c := range r.collectors {
		if r.last != nil && !r.stale(i, now, s) {
			p.sections[i] = r.last.sections[i]
			continue
		}
		p.sections[i] = r.section(c, v)
		r.rendered[i] = now
	}
	r.last = p
	return p
}

// stale reports whether a section must be rendered again.
func (r *renderer) stale(i int, now time.Time, s *slurmclient.Snapshot) bool {
	c := r.collectors[i]
	if c.clocked && now.Sub(r.rendered[i]) >= demandLife {
		return true
	}
	return slices.ContainsFunc(c.needs, func(res slurmclient.Resource) bool { return differs(r.last.view.Snapshot, s, res) })
}

func (r *renderer) section(c collector, v *view) section {
	begin := time.Now()
	out := section{name: c.name, set: c.set}
	for _, f := range c.families {
		p, n := r.piece(f, v)
		out.pieces = append(out.pieces, p)
		out.series += n
	}
	if c.observes {
		out.pieces = append(out.pieces, r.observed.pieces()...)
	}
	out.took = time.Since(begin)
	return out
}

func (r *renderer) piece(f family, v *view) (namedPiece, int) {
	lines := newSamples(f)
	f.values(v, lines)
	text, open := f.heads()
	return namedPiece{f.name, piece{
		head:   [formats][]byte{[]byte(text), []byte(open)},
		body:   lines.buf,
		packed: r.packer.pack(lines.buf),
	}}, lines.count
}

// choose returns the pieces of the sections that want accepts. A name that an
// earlier section has is left out, since an exposition may hold it only once.
func (p *page) choose(want func(section) bool) []piece {
	seen := map[string]bool{}
	var out []piece
	for _, s := range p.sections {
		if !want(s) {
			continue
		}
		for _, f := range s.pieces {
			if !seen[f.family] {
				seen[f.family] = true
				out = append(out, f.piece)
			}
		}
	}
	return out
}
