// Package show displays the demo, either as lines with times or live in a terminal.
package show

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// progressInterval is the pause between two lines about the progress of one step.
const progressInterval = 10 * time.Second

// Plain writes a line for each event. It is safe for concurrent use.
type Plain struct {
	out   io.Writer
	now   func() time.Time
	began time.Time

	mu            sync.Mutex
	steps         []steps.Status
	lastProgress  time.Time // when the last progress line was written
	preview, play written
}

// written is the state of the output of a play.
type written struct {
	prefix     string
	lastSample timeline.Sample
	marks      int
	err        string
}

// NewPlain returns a Plain whose times start now.
func NewPlain(out io.Writer, now func() time.Time) *Plain {
	return &Plain{out: out, now: now, began: now(), preview: written{prefix: "SIMULATED  "}}
}

// say writes a line.
func (p *Plain) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "[%6.1fs] %s\n", p.now().Sub(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// Steps reports finished and failed steps, and from time to time the progress of the running one.
func (p *Plain) Steps(board []steps.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range board {
		before := steps.Status{}
		if i < len(p.steps) {
			before = p.steps[i]
		}
		switch {
		case s.State == steps.Done && before.State != steps.Done:
			p.say("%-36s %6.1f s", s.Name, s.Took.Seconds())
		case s.State == steps.Failed && before.State != steps.Failed:
			p.say("%-36s failed after %.1f s", s.Name, s.Took.Seconds())
		case s.State == steps.Running && before.State != steps.Running:
			p.lastProgress = p.now()
		case s.State == steps.Running && p.now().Sub(p.lastProgress) >= progressInterval:
			p.lastProgress = p.now()
			p.say("%s … %s", s.Name, s.Progress.Text)
		}
	}
	p.steps = board
}

// Preview reports what has changed in a simulation, and marks each line as simulated.
func (p *Plain) Preview(v play.View) { p.sayChanges(&p.preview, v) }

// Play reports what has changed.
func (p *Plain) Play(v play.View) { p.sayChanges(&p.play, v) }

func (p *Plain) sayChanges(w *written, v play.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range v.Timeline.Marks[w.marks:] {
		p.say("%s%s", w.prefix, m.Text)
	}
	w.marks = len(v.Timeline.Marks)
	if err := errorText(v.Err); err != w.err {
		w.err = err
		if err != "" {
			p.say("%snot everything can be read: %s", w.prefix, err)
		}
	}
	if now := v.Timeline.Last(); formatSample(now) != formatSample(w.lastSample) {
		w.lastSample = now
		p.say("%s%+6.1f s  %s", w.prefix, now.At.Seconds(), formatSample(now))
	}
}

// Close does nothing.
func (p *Plain) Close() {}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// formatSample describes a sample in one line, without its time.
func formatSample(s timeline.Sample) string {
	parts := []string{fmt.Sprintf("jobs %s pending %s running %s done", s.Pending, s.Running, s.Done)}
	for _, set := range s.Sets {
		parts = append(parts, formatNodeSet(set))
	}
	return strings.Join(parts, " | ")
}

func formatNodeSet(s timeline.Set) string {
	text := fmt.Sprintf("%s: required %s, replicas %s", s.Name, s.Required, s.Desired)
	if !s.Known {
		return text + ", workers ?"
	}
	for _, state := range timeline.States() {
		if n := s.Count(state); n > 0 {
			text += fmt.Sprintf(", %d %s", n, state)
		}
	}
	return text
}
