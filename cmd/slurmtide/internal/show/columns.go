package show

import (
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// chartColumns divides a timeline into columns of equal duration.
type chartColumns struct {
	from, each time.Duration
	// samples contains for each column the last sample in or before it. Future columns have none.
	samples []timeline.Sample
	width   int
}

// newColumns divides a timeline into columns of the shortest duration that fits the width.
func newColumns(line timeline.Timeline, width int) chartColumns {
	from, to := line.Span()
	c := chartColumns{from: from, each: 500 * time.Millisecond, width: max(width, 1)}
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
func (c chartColumns) row(
	label, style string, most int, value string, count func(timeline.Sample) timeline.Reading, p painter,
) string {
	var b strings.Builder
	for _, s := range c.samples {
		b.WriteString(barSign(count(s), most))
	}
	return padText("  "+label, labelWidth) + p(style, b.String()) + strings.Repeat(" ", c.width-len(c.samples)) + " " +
		p(strong, padText(value, valueWidth-1))
}

// barSign returns the character for a count: a dot for 0, a blank for an unknown count.
func barSign(r timeline.Reading, most int) string {
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
func (c chartColumns) lane(set, name string, p painter) string {
	text, run, style := p(dim, padText("    "+name, labelWidth)), "", ""
	for _, s := range c.samples {
		next, sign := stateStyle(stateIn(s, set, name))
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
func (c chartColumns) axis(p painter) string {
	const room = 10 // columns between two times
	text := []rune(strings.Repeat(" ", c.width+room))
	step := (room*c.each + 4*time.Second) / (5 * time.Second) * (5 * time.Second)
	for at := time.Duration(0); ; at += max(step, 5*time.Second) {
		n := int((at - c.from) / c.each)
		if n < 0 || n >= c.width {
			break
		}
		copy(text[n:], []rune("╵"+formatSeconds(at)))
	}
	return strings.Repeat(" ", labelWidth) + p(dim, string(text[:c.width]))
}
