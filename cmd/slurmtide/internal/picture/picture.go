// Package picture draws a timeline as SVG and PNG: the queue, the required and actual workers of
// each NodeSet, and the states of each worker. The same timeline always produces the same bytes.
package picture

import (
	"fmt"
	"io"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// Picture is a timeline with its texts.
type Picture struct {
	Title, Subtitle string
	Timeline        timeline.Timeline
	// Footer is a one-line summary.
	Footer string
}

// SVG writes the picture as SVG.
func (p Picture) SVG(w io.Writer) error {
	c := &svg{}
	height := p.draw(c)
	_, err := io.WriteString(w, c.document(width, height))
	return err
}

// PNG writes the picture as PNG, with two pixels per SVG unit.
func (p Picture) PNG(w io.Writer) error {
	height := p.draw(&svg{}) // only to get the height
	c, err := newRaster(width, height, 2)
	if err != nil {
		return fmt.Errorf("reading the font: %w", err)
	}
	p.draw(c)
	return c.encode(w)
}

// canvas is a drawing surface. Coordinates are in SVG units; y grows downwards.
type canvas interface {
	// rect fills a rectangle.
	rect(x, y, w, h float64, fill colour)
	// text writes a line with its baseline at y. The font's alignment makes x its start, end or centre.
	text(x, y float64, s string, t font)
}

// colour is written as #rrggbb.
type colour string

type align uint8

const (
	fromLeft align = iota
	toRight
	centred
)

type weight uint8

const (
	regular weight = iota
	bold
)

// font is the style of a text.
type font struct {
	size   float64
	weight weight
	align  align
	fill   colour
}

const (
	width   = 1200
	left    = 72.0
	right   = width - 32.0
	ink     = colour("#1f2430")
	greyInk = colour("#6b7280")
	grid    = colour("#e7e9ee")
	paper   = colour("#ffffff")
	border  = colour("#c4c9d2")
)

// draw draws the picture and returns its height.
func (p Picture) draw(c canvas) float64 {
	from, to := p.Timeline.Span()
	x := axis{from: from, to: max(to, from+time.Second)}
	c.text(left, 46, p.Title, font{size: 24, weight: bold, fill: ink})
	c.text(left, 70, p.Subtitle, font{size: 14, fill: greyInk})
	top := 122.0
	var bands []band
	b, y := p.drawQueue(c, x, top+6)
	bands = append(bands, b)
	for _, name := range p.nodeSetNames() {
		b, y = p.drawNodeSet(c, x, y, name)
		bands = append(bands, b)
	}
	b, y = p.drawLanes(c, x, y)
	bands = append(bands, b)
	x.ticks(c, y)
	p.drawMoments(c, x, top, bands)
	c.text(left, y+56, p.Footer, font{size: 13, fill: ink})
	return y + 80
}

// nodeSetNames returns the names of the NodeSets in their order.
func (p Picture) nodeSetNames() []string {
	var names []string
	for _, s := range p.Timeline.Last().Sets {
		names = append(names, s.Name)
	}
	return names
}
