package main

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// progressInterval is the pause between two lines about the same poll.
const progressEvery = 5 * time.Second

// progress logs the progress of long polls. Only one resource reports progress, with one poll at a
// time.
type progress struct {
	log  logger
	now  func() time.Time
	told time.Time // start of the poll, or time of the last line
	last int
}

func newProgress(log logger, now func() time.Time) *progress {
	return &progress{log: log, now: now}
}

func (p *progress) see(r slurmclient.Resource, done, total int) {
	now := p.now()
	if done <= p.last || p.told.IsZero() {
		p.told = now // another poll
	}
	p.last = done
	if now.Sub(p.told) < progressEvery {
		return
	}
	p.told = now
	p.log.Info("reading records one by one", "resource", r, "read", done, "of", total)
}
