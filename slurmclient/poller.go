package slurmclient

import (
	"context"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// mostBackoff bounds the pause after failures, so that a server that comes back
	// is noticed soon.
	mostBackoff = 30 * time.Second
	// pollDeadline bounds one poll, whatever it consists of.
	pollDeadline = 15 * time.Minute
)

// poller polls one resource. Only its own goroutine polls, so there is never
// more than one request for the resource under way.
type poller struct {
	cache    *Cache
	resource Resource
	period   time.Duration
	read     func(context.Context) (reading, error)
	wake     chan struct{}

	mu       sync.Mutex
	begun    uint64        // polls begun
	ended    uint64        // the newest poll that has ended
	err      error         // how it ended
	finished chan struct{} // closed when a poll ends
}

func newPoller(c *Cache, r Resource) *poller {
	return &poller{
		cache: c, resource: r, period: c.periodOf(r), read: c.readerOf(r),
		wake: make(chan struct{}, 1), finished: make(chan struct{}),
	}
}

func (c *Cache) periodOf(r Resource) time.Duration {
	switch r {
	case Nodes, Jobs, Pings, Stats:
		return c.cfg.Period
	case Partitions, Reservations, Licenses, Conf:
		return min(4*c.cfg.Period, c.cfg.Slow)
	}
	return c.cfg.Slow
}

func (p *poller) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := p.once(ctx)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.wake:
			timer.Stop()
		}
	}
}

// once polls, publishes what came of it and returns how long to pause.
func (p *poller) once(ctx context.Context) time.Duration {
	p.mu.Lock()
	p.begun++
	number := p.begun
	select {
	case <-p.wake: // this is the poll that was asked for
	default:
	}
	p.mu.Unlock()

	begin := p.cache.cfg.Now()
	pollCtx, cancel := context.WithTimeout(ctx, pollDeadline)
	got, err := p.readSafely(pollCtx)
	cancel()
	took := p.cache.cfg.Now().Sub(begin)

	var pause time.Duration
	if ctx.Err() == nil {
		pause, err = p.publishPoll(begin, took, got, err)
	}
	p.mu.Lock()
	p.ended, p.err = number, err
	close(p.finished)
	p.finished = make(chan struct{})
	p.mu.Unlock()
	return pause
}

// readSafely reads the resource. A panic becomes an error, and the next poll begins
// with a new reader, since this one may have stopped halfway through a change.
func (p *poller) readSafely(ctx context.Context) (got reading, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.read = p.cache.readerOf(p.resource)
			got, err = reading{}, &Error{Code: CodePanic, Op: "polling " + string(p.resource),
				Err: &Panic{Value: v, Stack: debug.Stack()}}
		}
	}()
	return p.read(ctx)
}

// publishPoll publishes what came of a poll, and returns how long to pause and why the poll failed.
func (p *poller) publishPoll(begin time.Time, took time.Duration, got reading, err error) (pause time.Duration, failure error) {
	p.cache.publish(func(s *Snapshot) {
		err = p.writePoll(s, begin, took, got, err)
		poll := s.poll(p.resource)
		spent := took
		if err == nil && got.rare {
			spent = 0
		}
		pause = pauseAfter(p.period, spent, p.cache.cfg.Share, poll.Failures)
		poll.Period = pause
		poll.Round = time.Duration(got.round) * (pause + took)
	})
	p.cache.client.cfg.Observer.Polled(p.resource, took, err)
	return jitter(pause), err
}

// writePoll writes what came of a poll into a snapshot that nobody reads yet, and returns why
// the poll failed. Where writing what was read panics, the snapshot stays as it was.
func (p *poller) writePoll(s *Snapshot, begin time.Time, took time.Duration, got reading, err error) error {
	before := *s
	if err == nil {
		err = Guard("taking in "+string(p.resource), func() { p.writeReading(s, begin, took, got) })
	}
	if err != nil {
		*s = before
		s.poll(p.resource).fail(begin, err)
	}
	return err
}

// writeReading writes what a poll has read into a snapshot.
func (p *poller) writeReading(s *Snapshot, begin time.Time, took time.Duration, got reading) {
	nodes := s.Nodes
	if got.set != nil {
		got.set(s)
	}
	s.poll(p.resource).succeed(begin, took, got)
	if got.server.Release != "" {
		s.Server = got.server
	}
	s.Earlier = nextEarlier(s.Earlier, nodes, s.Nodes, s.Jobs.ReadAt)
}

func (p *Poll) fail(begin time.Time, err error) {
	if p.Failures == 0 {
		p.FailingSince = begin
	}
	p.Failures++
	p.Err = err
	if PanicOf(err) != nil {
		p.Panics++
	}
}

func (p *Poll) succeed(begin time.Time, took time.Duration, got reading) {
	if got.server.Cluster != "" {
		p.Cluster = got.server.Cluster
	}
	if got.set != nil {
		p.Sequence++
		p.ServerTime = got.serverTime
	}
	p.Reader, p.Absent = got.reader, got.absent
	p.Known, p.ReadAt, p.OldestAt, p.Took = true, begin, begin, took
	if !got.oldest.IsZero() && got.oldest.Before(begin) {
		p.OldestAt = got.oldest
	}
	p.Err, p.FailingSince, p.Failures = nil, time.Time{}, 0
}

// pauseAfter decides how long to pause after a poll that took so long: at least
// the period, longer where polling would take more than its share of the time,
// and after failures doubled up to mostBackoff or eight periods.
func pauseAfter(period, took time.Duration, share float64, failures int) time.Duration {
	pause := max(period, time.Duration(float64(took)*(1-share)/share))
	if failures == 0 {
		return pause
	}
	most := max(pause, min(8*period, mostBackoff))
	return min(most, pause<<min(failures-1, 10))
}

// jitter spreads the pauses of many clients by a tenth in both directions.
func jitter(pause time.Duration) time.Duration {
	if pause < 10 {
		return pause
	}
	return pause - pause/10 + rand.N(pause/5)
}

// ask requests a poll that begins after now and returns a function that waits
// for it to end.
func (p *poller) ask() func(context.Context) error {
	p.mu.Lock()
	want := p.begun + 1
	select {
	case p.wake <- struct{}{}:
	default:
	}
	p.mu.Unlock()
	return func(ctx context.Context) error {
		for {
			p.mu.Lock()
			ended, err, finished := p.ended, p.err, p.finished
			p.mu.Unlock()
			if ended >= want {
				return err
			}
			select {
			case <-finished:
			case <-p.cache.stopped:
				return &Error{Code: CodeUnavailable, Op: "refreshing " + string(p.resource), Message: "the cache has stopped"}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}
