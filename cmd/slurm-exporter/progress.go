package main

import (
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// progressInterval is the pause between two lines about the same poll.
const progressInterval = 5 * time.Second

// progress logs the progress of long polls. Only one resource reports progress, with one poll at a
// time.
type progress struct {
	log      lines.Logger
	now      func() time.Time
	lastLine time.Time // start of the poll, or time of the last line
	last     int
}

func newProgress(log lines.Logger, now func() time.Time) *progress {
	return &progress{log: log, now: now}
}

func (p *progress) update(r slurmclient.Resource, done, total int) {
	now := p.now()
	if done <= p.last || p.lastLine.IsZero() {
		p.lastLine = now // another poll
	}
	p.last = done
	if now.Sub(p.lastLine) < progressInterval {
		return
	}
	p.lastLine = now
	p.log.Info("reading records one by one", "resource", r, "read", done, "of", total)
}
