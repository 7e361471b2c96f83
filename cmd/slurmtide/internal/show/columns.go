package show

import (
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// chartColumns divides a timeline into columns of equal duration.
type columns struct {
	from, each time.Duration
	// samples contains for each column the last sample in or before it. Future columns have none.
	samples []timeline.Sample
	width   int
}

// newColumns divides a timeline into columns of the shortest duration that fits the width.
func newColumns(line timeline.Timeline, width int) columns {
	from, to := line.Span()
	c := columns{from: from, each: 500 * time.Millisecond, width: max(width, 1)}
	for _, each := range []time.Duration{1, 2, 4, 6, 10, 20, 60, 600} {
		if (to-from)/c.each < time.Duration(c.width) {
			break
		}
		c.each = each * 500 * time.Millisecond
	}
	for _, s := range line.Samples {
		n := min(int((s.At-from)/c.each), c.width-1)
		for len(c.samples) < n {
			c.samples = append(c.samples, c.samples[len(c.samples)-1])
		}
		c.samples = append(c.samples[:n], s)
	}
	return c
}

// row draws a count and writes its last value behind it.
func (c columns) row(
	label, style string, most int, value string, count func(timeline.Sample) timeline.Reading, p paint,
) string {
	var b strings.Builder
	for _, s := range c.samples {
		b.WriteString(level(count(s), most))
	}
	return fit("  "+label, labels) + p(style, b.String()) + strings.Repeat(" ", c.width-len(c.samples)) + " " +
		p(strong, fit(value, values-1))
}

// barSign returns the character for a count: a dot for 0, a blank for an unknown count.
func level(r timeline.Reading, most int) string {
	switch {
	case !r.Known:
		return " "
	case r.Value <= 0:
		return "·"
	}
	steps := []rune("▁▂▃▄▅▆▇█")
	return string(steps[min(len(steps)-1, (r.Value*len(steps)-1)/max(most, 1))])
}

// lane draws the states of a worker.
func (c columns) lane(set, name string, p paint) string {
	text, run, style := p(dim, fit("    "+name, labels)), "", ""
	for _, s := range c.samples {
		next, sign := look(stateIn(s, set, name))
		if next != style {
			text += p(style, run)
			run, style = "", next
		}
		run += sign
	}
	return text + p(style, run)
}

// stateIn returns the state of a worker in a sample.
func stateIn(s timeline.Sample, set, name string) timeline.State {
	for _, of := range s.Sets {
		for _, w := range of.Workers {
			if of.Name == set && w.Name == name {
				return w.State
			}
		}
	}
	return timeline.Absent
}

// axis writes the times below their columns.
func (c columns) axis(p paint) string {
	const room = 10 // columns between two times
	text := []rune(strings.Repeat(" ", c.width+room))
	step := (room*c.each + 4*time.Second) / (5 * time.Second) * (5 * time.Second)
	for at := time.Duration(0); ; at += max(step, 5*time.Second) {
		n := int((at - c.from) / c.each)
		if n < 0 || n >= c.width {
			break
		}
		copy(text[n:], []rune("╵"+seconds(at)))
	}
	return strings.Repeat(" ", labels) + p(dim, string(text[:c.width]))
}
