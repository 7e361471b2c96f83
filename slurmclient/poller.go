package slurmclient

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/pacing"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// pollDeadline limits one poll with all its requests.
const pollDeadline = 15 * time.Minute

// poller polls one resource. Only its own goroutine polls, so that never more than one request for
// the resource is in flight.
type poller struct {
	cache     *Cache
	resource  Resource
	period    time.Duration
	read      func(context.Context) (reading, error)
	requested chan struct{}

	mu       sync.Mutex
	begun    uint64        // number of polls that have begun
	ended    uint64        // number of the last poll that has ended
	err      error         // result of that poll
	finished chan struct{} // closed when a poll ends
}

func newPoller(c *Cache, r Resource) *poller {
	return &poller{
		cache: c, resource: r, period: c.periodOf(r), read: c.readerOf(r),
		requested: make(chan struct{}, 1), finished: make(chan struct{}),
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
	requested := false
	for ctx.Err() == nil {
		release := func() {}
		if !requested && CodeOf(p.cache.Snapshot().poll(p.resource).Err) == CodeUnavailable {
			release = p.cache.awaitProbe(ctx, p.requested)
		}
		pause := p.pollOnce(ctx)
		release()
		requested = false
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		case <-p.requested:
			timer.Stop()
			requested = true
		}
	}
}

// probeTime is longer than a failing poll takes, which may make several requests that each time out after 17 s.
const probeTime = time.Minute

// awaitProbe waits until no other poller waits for a server that did not answer last time, or until the poll is requested. It returns a
// function that lets the next poller send its request.
//
// slurmrestd has twice as many threads as processors, and a request occupies a thread until slurmctld answers or times out. Requests that
// pile up during an outage keep slurmrestd busy for minutes afterwards. A poll that takes longer than a request's timeout is being
// answered, so the next poller may start after probeTime.
func (c *Cache) awaitProbe(ctx context.Context, requested <-chan struct{}) (release func()) {
	select {
	case c.probe <- struct{}{}:
		release := sync.OnceFunc(func() { <-c.probe })
		late := time.AfterFunc(probeTime, release)
		return func() { late.Stop(); release() }
	case <-requested:
	case <-ctx.Done():
	}
	return func() {}
}

// pollOnce polls, publishes the result and returns how long to pause.
func (p *poller) pollOnce(ctx context.Context) time.Duration {
	p.mu.Lock()
	p.begun++
	number := p.begun
	select {
	case <-p.requested: // this poll serves the request
	default:
	}
	p.mu.Unlock()

	begin := p.cache.cfg.Now()
	pollCtx, cancel := context.WithTimeout(ctx, pollDeadline)
	got, err := p.readRecovered(pollCtx)
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

// readRecovered reads the resource. A panic becomes an error, and the next poll begins with a new
// reader, since the panic may have left this one in an inconsistent state.
func (p *poller) readRecovered(ctx context.Context) (got reading, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.read = p.cache.readerOf(p.resource)
			got, err = reading{}, &Error{Code: CodePanic, Op: "polling " + string(p.resource),
				Err: &Panic{Value: v, Stack: debug.Stack()}}
		}
	}()
	return p.read(ctx)
}

// publishPoll publishes the result of a poll, and returns how long to pause and why the poll failed.
func (p *poller) publishPoll(
	begin time.Time, took time.Duration, got reading, err error,
) (pause time.Duration, failure error) {
	recovered := false
	p.cache.publish(func(s *Snapshot) {
		failures := s.poll(p.resource).Failures
		err = p.writePoll(s, begin, took, got, err)
		poll := s.poll(p.resource)
		recovered = failures > 0 && poll.Failures == 0
		spent := pacing.Spent(took, got.catchUp, p.cache.cfg.Share)
		if err == nil && got.exceptional {
			spent = 0
		}
		pause = max(pacing.PauseAfter(p.period, spent, p.cache.cfg.Share, poll.Failures), requestedPause(err))
		poll.Period = pause
		poll.Round = time.Duration(got.round) * (pause + took)
	})
	p.cache.client.cfg.Observer.Polled(p.resource, took, err)
	if recovered {
		p.cache.retryFailing()
	}
	if p.resource == Jobs && got.update != nil {
		p.cache.requestCreatedQOS()
	}
	if server := p.cache.client.serverNumber(); p.cache.server.Swap(server) != server {
		for _, other := range p.cache.pollers { // what they have is of the former server
			other.requestPoll()
		}
	}
	return pacing.AddJitter(pause), err
}

// maxRequestedPause limits how long a server can have polls wait.
const maxRequestedPause = 5 * time.Minute

// requestedPause returns how long the server asks to wait, 0 for no time.
func requestedPause(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return min(e.RetryAfter, maxRequestedPause)
}

// writePoll writes the result of a poll into a snapshot that is not published yet, and returns why the
// poll failed. If writing the reading panics, or names too many nodes, the values in the snapshot stay unchanged, and the next
// poll begins with a new reader.
func (p *poller) writePoll(s *Snapshot, begin time.Time, took time.Duration, got reading, err error) error {
	before := *s
	if err == nil {
		if err = Guard("storing "+string(p.resource), func() { p.writeReading(s, begin, took, got) }); err == nil && got.update != nil {
			err = checkNamedNodes(s, p.resource)
		}
		if err != nil {
			// The reader assumes that its last reading was stored; an "unchanged" would mark the older values as fresh.
			p.read = p.cache.readerOf(p.resource)
		}
	}
	if err != nil {
		*s = before
		s.poll(p.resource).fail(begin, err)
	}
	return err
}

// writeReading writes the reading of a poll into a snapshot.
func (p *poller) writeReading(s *Snapshot, begin time.Time, took time.Duration, got reading) {
	nodes := s.Nodes
	if got.update != nil {
		got.update(s)
	}
	s.poll(p.resource).succeed(begin, took, got)
	if got.server.Release != "" {
		s.Server = got.server
	}
	s.BusySinceJobs = nextBusySinceJobs(s.BusySinceJobs, nodes, s.Nodes, s.Jobs.ReadAt)
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
	if got.update != nil {
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

// retryFailing requests a poll of every resource whose last poll failed: a server that answers one request again
// probably answers the others.
func (c *Cache) retryFailing() {
	s := c.Snapshot()
	for _, p := range c.pollers {
		if s.poll(p.resource).Failures > 0 {
			p.requestPoll()
		}
	}
}

// requestCreatedQOS requests a poll of QOS if jobs wait in a QOS that was created since the last poll. Its limits would otherwise apply
// only after the next regular poll. Only the poller of jobs calls it.
func (c *Cache) requestCreatedQOS() {
	s, p := c.Snapshot(), c.pollerOf(QOS)
	if p != nil && s.QOS.Known && !s.QOS.Absent && c.unknownQOS.observe(s.Jobs.Value, s.QOS.Value) {
		p.requestPoll()
	}
}

// requestPoll requests a poll that begins after the call and returns a function that waits for it to
// end.
func (p *poller) requestPoll() func(context.Context) error {
	p.mu.Lock()
	want := p.begun + 1
	select {
	case p.requested <- struct{}{}:
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
				return &Error{Code: CodeUnavailable, Op: "refreshing " + string(p.resource),
					Message: "the cache has stopped"}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// newJobsChecker checks for new jobs between the polls. It reads diag, which costs slurmrestd a
// millisecond regardless of the length of the queue, and requests polls of nodes and jobs if jobs were
// submitted or updated.
type newJobsChecker struct {
	cache   *Cache
	stats   func(context.Context) (*slurm.Stats, error)
	jobs    *poller
	nodes   *poller // nil if nodes are not polled
	newJobs pacing.NewJobs
	failing bool
}

func (l *newJobsChecker) run(ctx context.Context) {
	interval := l.cache.cfg.NewJobsInterval
	for {
		timer := time.NewTimer(pacing.AddJitter(interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		interval = l.cache.cfg.NewJobsInterval
		release := func() {}
		if l.failing {
			release = l.cache.awaitProbe(ctx, nil)
		}
		err := l.checkForJobs(ctx)
		release()
		if err != nil {
			// The polls report the failure; the checks continue at their pace.
			interval = l.cache.cfg.Period
		} else if l.failing {
			l.cache.retryFailing()
		}
		l.failing = err != nil
	}
}

// checkForJobs reads diag once and waits for a poll of the jobs if it is due. A panic becomes an
// error.
func (l *newJobsChecker) checkForJobs(ctx context.Context) (err error) {
	panicked := Guard("looking for new jobs", func() {
		var stats *slurm.Stats
		if stats, err = l.stats(ctx); err != nil {
			return
		}
		now, s := l.cache.cfg.Now(), l.cache.Snapshot()
		if !l.newJobs.ShouldPoll(now, stats, lastPollOf(s.Jobs.Poll)) {
			return
		}
		// Nodes first: an older reading may show the node of a started job as idle, and the new job would seem to fit there. Polls report their
		// own failures.
		if l.nodes != nil && lastPollOf(s.Nodes.Poll).MayPollEarly(now) {
			_ = l.nodes.requestPoll()(ctx)
		}
		_ = l.jobs.requestPoll()(ctx)
	})
	if panicked != nil {
		return panicked
	}
	return err
}

func lastPollOf(p Poll) pacing.LastPoll {
	return pacing.LastPoll{Succeeded: p.Known && p.Err == nil, ReadAt: p.ReadAt, Took: p.Took}
}
