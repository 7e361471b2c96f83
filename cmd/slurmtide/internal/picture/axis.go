package picture

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// axis is the time axis.
type axis struct{ from, to time.Duration }

// position returns the x coordinate of a time.
func (a axis) position(t time.Duration) float64 {
	return left + (right-left)*float64(t-a.from)/float64(a.to-a.from)
}

// tickInterval returns the time between two ticks: a round number that gives at most a dozen ticks.
func (a axis) tickInterval() time.Duration {
	for _, s := range []time.Duration{1, 2, 5, 10, 20, 30, 60, 120, 300} {
		if (a.to-a.from)/(s*time.Second) <= 12 {
			return s * time.Second
		}
	}
	return 10 * time.Minute
}

// ticks writes the times below the panels.
func (a axis) ticks(c canvas, bottom float64) {
	for t := time.Duration(0); t <= a.to; t += a.tickInterval() {
		c.rect(a.position(t)-0.5, bottom, 1, 5, border)
		c.text(a.position(t), bottom+20, fmt.Sprintf("%d s", int(t.Seconds())),
			font{size: 12, align: centred, fill: greyInk})
	}
}

// gridlines draws vertical lines at the ticks of a panel.
func (a axis) gridlines(c canvas, top, height float64) {
	for t := time.Duration(0); t <= a.to; t += a.tickInterval() {
		c.rect(a.position(t)-0.5, top, 1, height, grid)
	}
}

// drawMoments draws a labelled line at submission, at the first job, at the end of the last job,
// and at zero.
func (p Picture) drawMoments(c canvas, x axis, top float64, bands []band) {
	marks := reactionMarks(p.Timeline)
	ends := map[int]float64{} // of the labels of each row
	for i, m := range marks {
		at, wide := x.position(m.At), 6.2*float64(len(m.Text))
		for _, b := range bands {
			for y := b.top; y < b.top+b.height; y += 8 {
				c.rect(at-0.75, y, 1.5, min(4, b.top+b.height-y), ink)
			}
		}
		side, from := fromLeft, at
		if at+wide > right || i+1 < len(marks) && x.position(marks[i+1].At) < at+wide && at-wide > 10 {
			side, from = toRight, at-wide
		}
		row := 0
		for ; ends[row] > from; row++ {
		}
		ends[row] = from + wide + 10
		c.rect(at-0.75, top-20*float64(row)-14, 1.5, 20*float64(row)+14, ink)
		c.text(at+[...]float64{fromLeft: 5, toRight: -5}[side], top-20*float64(row)-4, m.Text,
			font{size: 12, weight: bold, align: side, fill: ink})
	}
}

// reactionMarks returns those moments that have already happened.
func reactionMarks(line timeline.Timeline) []timeline.Mark {
	reactions := map[string]timeline.Reaction{}
	for _, r := range line.Reactions() {
		reactions[r.Name] = r
	}
	marks := []timeline.Mark{{At: 0, Text: "jobs submitted"}}
	add := func(what, text string, after time.Duration) {
		if r := reactions[what]; r.Happened {
			marks = append(marks, timeline.Mark{At: after + r.Took,
				Text: fmt.Sprintf("%s, %.1f s", text, (after + r.Took).Seconds())})
		}
	}
	add("first job runs", "first job runs", 0)
	add("all jobs are done", "last job ends", 0)
	add("last pod is deleted", "zero", reactions["all jobs are done"].Took)
	return marks
}
