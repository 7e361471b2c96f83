package picture

import (
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

const (
	pendingFill  = colour("#b9b2ea")
	runningFill  = colour("#2e8b57")
	serviceFill  = colour("#cfe5f5")
	replicasLine = colour("#0072b2")
	requiredLine = colour("#d55e00")
)

// stateColour returns the colour of a worker state.
func stateColour(s timeline.State) colour {
	return [...]colour{
		timeline.Absent: paper, timeline.Starting: "#d9dce3", timeline.Idle: "#a9dcb9", timeline.Busy: "#2e8b57",
		timeline.Draining: "#e69f00", timeline.Terminating: "#8a8f98", timeline.Lost: "#d0342c",
	}[s]
}

const (
	panelHeader = 26.0 // title and legend
	panelGap    = 18.0
)

// band is the vertical extent of a chart.
type band struct{ top, height float64 }

// panel is a chart of counts over time.
type panel struct {
	canvas
	axis
	band
	maxCount int
}

// newPanel draws an empty panel below its title and legend. It returns the panel and the top of the
// next one.
func newPanel(c canvas, x axis, top, height float64, title string, most int, keys ...legendEntry) (panel, float64) {
	drawLegend(c, top+15, title, keys)
	top += panelHeader
	p := panel{c, x, band{top, height}, max(most, 1)}
	c.rect(left, top, right-left, height, "#fafbfc")
	x.gridlines(c, top, height)
	for _, v := range []int{0, (p.maxCount + 1) / 2, p.maxCount} {
		c.rect(left, p.y(float64(v))-0.5, right-left, 1, grid)
		c.text(left-8, p.y(float64(v))+4, fmt.Sprint(v), font{size: 12, align: toRight, fill: greyInk})
	}
	return p, top + height + panelGap
}

// y returns the y coordinate of a count. The maximum leaves a margin at the top.
func (p panel) y(v float64) float64 {
	return p.top + p.height - (p.height-8)*v/float64(p.maxCount)
}

// eachSample calls do for each sample with the x coordinates at which it starts and ends.
func (p panel) eachSample(line timeline.Timeline, do func(s timeline.Sample, from, to float64)) {
	for i, s := range line.Samples {
		end := s.At + time.Second/2
		if i+1 < len(line.Samples) {
			end = line.Samples[i+1].At
		}
		do(s, p.position(s.At), min(p.position(end), right))
	}
}

// area fills the space between two counts.
func (p panel) area(x0, x1 float64, lo, hi int, fill colour) {
	if hi > lo {
		p.rect(x0, p.y(float64(hi)), x1-x0, p.y(float64(lo))-p.y(float64(hi)), fill)
	}
}

// stroke draws a step line and skips unknown counts. shift moves the line vertically, so that two
// lines of equal counts stay visible.
func (p panel) stroke(
	line timeline.Timeline, count func(timeline.Sample) timeline.Reading, shift, thick float64, fill colour,
) {
	var before timeline.Reading
	p.eachSample(line, func(s timeline.Sample, x0, x1 float64) {
		now := count(s)
		if now.Known {
			y := p.y(float64(now.Value)) + shift
			p.rect(x0, y-thick/2, x1-x0, thick, fill)
			if before.Known && before.Value != now.Value {
				from := p.y(float64(before.Value)) + shift
				p.rect(x0-thick/2, min(from, y)-thick/2, thick, max(from, y)-min(from, y)+thick, fill)
			}
		}
		before = now
	})
}

// drawQueue draws the pending and running jobs.
func (p Picture) drawQueue(c canvas, x axis, top float64) (band, float64) {
	most := 0
	for _, s := range p.Timeline.Samples {
		most = max(most, s.Pending.Value+s.Running.Value)
	}
	pan, next := newPanel(c, x, top, 120, "Jobs", most, legendEntry{"pending", pendingFill, boxSymbol},
		legendEntry{"running", runningFill, boxSymbol})
	pan.eachSample(p.Timeline, func(s timeline.Sample, x0, x1 float64) {
		if s.Pending.Known && s.Running.Known {
			pan.area(x0, x1, 0, s.Running.Value, runningFill)
			pan.area(x0, x1, s.Running.Value, s.Running.Value+s.Pending.Value, pendingFill)
		}
	})
	return pan.band, next
}

// drawNodeSet draws the required, desired and serving workers of a NodeSet.
func (p Picture) drawNodeSet(c canvas, x axis, top float64, name string) (band, float64) {
	of := func(s timeline.Sample) timeline.Set {
		for _, set := range s.Sets {
			if set.Name == name {
				return set
			}
		}
		return timeline.Set{}
	}
	most := of(p.Timeline.Last()).Max
	pan, next := newPanel(c, x, top, max(60, 14*float64(most)+10), "NodeSet "+name, most,
		legendEntry{"required", requiredLine, lineSymbol}, legendEntry{"spec.replicas", replicasLine, lineSymbol},
		legendEntry{"in service", serviceFill, boxSymbol})
	pan.eachSample(p.Timeline, func(s timeline.Sample, x0, x1 float64) {
		pan.area(x0, x1, 0, of(s).Count(timeline.Idle, timeline.Busy), serviceFill)
	})
	pan.stroke(p.Timeline, func(s timeline.Sample) timeline.Reading { return of(s).Desired }, 0, 3, replicasLine)
	pan.stroke(p.Timeline, func(s timeline.Sample) timeline.Reading { return of(s).Required }, -2.5, 2, requiredLine)
	return pan.band, next
}

// drawLanes draws the states of each worker, one row per worker.
func (p Picture) drawLanes(c canvas, x axis, top float64) (band, float64) {
	const row, bar = 22.0, 15.0
	lanes := p.Timeline.Lanes()
	height := row * float64(max(len(lanes), 1))
	var keys []legendEntry
	for _, s := range timeline.States() {
		if s != timeline.Lost || hasLostWorker(lanes) {
			keys = append(keys, legendEntry{s.String(), stateColour(s), boxSymbol})
		}
	}
	drawLegend(c, top+15, "Workers", keys)
	top += panelHeader
	x.gridlines(c, top, height)
	for i, lane := range lanes {
		y := top + row*float64(i)
		c.text(left-8, y+row/2+4, lane.Worker, font{size: 12, align: toRight, fill: greyInk})
		c.rect(left, y+row-0.5, right-left, 1, grid)
		for _, s := range lane.Intervals {
			c.rect(x.position(s.From), y+(row-bar)/2, x.position(s.To)-x.position(s.From), bar, stateColour(s.State))
		}
	}
	return band{top, height}, top + height
}

// hasLostWorker reports whether any worker was lost.
func hasLostWorker(lanes []timeline.Lane) bool {
	for _, l := range lanes {
		for _, s := range l.Intervals {
			if s.State == timeline.Lost {
				return true
			}
		}
	}
	return false
}
