package main

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// progressEvery is the pause between lines about one long poll.
const progressEvery = 5 * time.Second

// progress logs how far a poll is that takes long. One resource has such polls, and
// one at a time.
type progress struct {
	log  logger
	now  func() time.Time
	told time.Time // when the poll began, or the last line about it
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
