package slurmclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestReaderChooser(t *testing.T) {
	poll := func(r JobsReader, jobs int, took time.Duration) func(*readerChooser) {
		return func(k *readerChooser) { k.recordCost(r, jobs, took) }
	}
	begin := func(queue int) func(*readerChooser) { return func(k *readerChooser) { k.start(queue) } }
	step := func(jobs int) func(*readerChooser) { return func(k *readerChooser) { k.choose(jobs) } }
	const s = time.Second
	for name, c := range map[string]struct {
		mode    JobsReader
		history []func(*readerChooser)
		jobs    int
		want    JobsReader
	}{
		"the list when configured": {ReadList, []func(*readerChooser){poll(ReadList, 90000, 60*s)},
			90000, ReadList},
		"delta when configured":                 {ReadDelta, nil, 3, ReadDelta},
		"a short queue begins with the list":    {ReadAuto, []func(*readerChooser){begin(100)}, 0, ReadList},
		"a long queue begins with delta":        {ReadAuto, []func(*readerChooser){begin(50000)}, 0, ReadDelta},
		"an unknown queue begins with the list": {ReadAuto, nil, 0, ReadList},
		"a cheap list stays": {ReadAuto,
			[]func(*readerChooser){begin(100), poll(ReadList, 100, s/20)}, 100, ReadList},
		"a list that became expensive tries delta": {ReadAuto,
			[]func(*readerChooser){begin(100), poll(ReadList, 4000, 3*s)}, 4000, ReadDelta},
		"a list that would become expensive": {ReadAuto,
			[]func(*readerChooser){begin(100), poll(ReadList, 1000, s/5)}, 4000, ReadDelta},
		"delta stays while it is cheaper": {ReadAuto,
			[]func(*readerChooser){begin(9), poll(ReadList, 4000, 3*s), step(4000), poll(ReadDelta, 4000, s/2)}, 4000,
			ReadDelta},
		"back to the list when delta is no better": {ReadAuto,
			[]func(*readerChooser){begin(9), poll(ReadList, 4000, 3*s), step(4000), poll(ReadDelta, 4000, 8*s)}, 4000,
			ReadList},
		"back to the list when the queue has shrunk": {ReadAuto,
			[]func(*readerChooser){begin(9), poll(ReadList, 4000, 3*s), step(4000), poll(ReadDelta, 4000, s/2)}, 400,
			ReadList},
		"a long queue that shrank is read as a list": {ReadAuto,
			[]func(*readerChooser){begin(50000), poll(ReadDelta, 50000, s)}, 200, ReadList},
		"a list mostly unchanged counts as the cheaper": {ReadAuto,
			[]func(*readerChooser){begin(9), poll(ReadList, 900, s), poll(ReadList, 900, 0), poll(ReadList, 900, 0),
				poll(ReadList, 900, 0), poll(ReadList, 900, 0)}, 900, ReadList},
	} {
		k := readerChooser{mode: c.mode}
		for _, h := range c.history {
			h(&k)
		}
		if got := k.choose(c.jobs); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAFailedListOfALongQueueSwitchesToDelta(t *testing.T) {
	k := readerChooser{mode: ReadAuto}
	k.start(100)
	k.recordCost(ReadList, 100, 10*time.Millisecond)
	k.recordListFailure(100)
	if got := k.choose(100); got != ReadList {
		t.Errorf("after a failure on a short queue it is %s", got)
	}
	k.recordListFailure(longQueue + 1)
	if got := k.choose(100); got != ReadDelta {
		t.Errorf("after a failure on a long queue it is %s", got)
	}
	fixed := readerChooser{mode: ReadList}
	if fixed.choseList(ReadList) {
		t.Error("a configured reader counts as chosen")
	}
}

func TestAPollThatPanicsFailsAndTheNextContinues(t *testing.T) {
	client, err := New(Config{URL: "http://127.0.0.1:1",
		Token: TokenFromKey([]byte("key"), "slurm", time.Hour, time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := NewCache(client, CacheConfig{Resources: []Resource{Nodes}})
	p := c.pollers[0]
	p.read = func(context.Context) (reading, error) {
		return reading{update: func(s *Snapshot) { s.Nodes.Value = []*slurm.Node{{Name: "n1"}} }}, nil
	}
	p.pollOnce(t.Context())
	p.read = func(context.Context) (reading, error) { panic("no such index") }
	p.pollOnce(t.Context())

	poll := c.Snapshot().Nodes
	if poll.Panics != 1 || poll.Failures != 1 || CodeOf(poll.Err) != CodePanic {
		t.Errorf("after a panic: %d panics, %d failures, %v", poll.Panics, poll.Failures, poll.Err)
	}
	if !poll.Known || len(poll.Value) != 1 {
		t.Error("the last good reading is lost")
	}
	if found := PanicOf(poll.Err); found == nil || !strings.Contains(string(found.Stack), "TestAPollThatPanics") {
		t.Errorf("the error has no stack: %v", poll.Err)
	}

	p.read = func(context.Context) (reading, error) {
		return reading{update: func(s *Snapshot) { s.Nodes.Value = nil; panic("halfway") }}, nil
	}
	p.pollOnce(t.Context())
	if poll := c.Snapshot().Nodes; len(poll.Value) != 1 || poll.Panics != 2 || CodeOf(poll.Err) != CodePanic ||
		CodeOf(p.err) != CodePanic {
		t.Errorf("after a panic while storing: %d nodes, %d panics, %v, %v", len(poll.Value), poll.Panics, poll.Err,
			p.err)
	}
	p.read = func(context.Context) (reading, error) { panic("no such index") }
	p.pollOnce(t.Context())

	p.pollOnce(t.Context()) // a new reader, which gets no answer at that address
	if poll := c.Snapshot().Nodes; CodeOf(poll.Err) != CodeUnavailable || poll.Panics != 3 || poll.Failures != 4 {
		t.Errorf("the poll after a panic: %d panics, %v", poll.Panics, poll.Err)
	}
}

func TestACheckForNewJobsThatPanicsIsAnError(t *testing.T) {
	l := newJobsChecker{stats: func(context.Context) (*slurm.Stats, error) { panic("no such field") }}
	if err := l.checkForJobs(t.Context()); CodeOf(err) != CodePanic {
		t.Errorf("the error is %v", err)
	}
	unreachable := errors.New("no answer")
	l.stats = func(context.Context) (*slurm.Stats, error) { return nil, unreachable }
	if err := l.checkForJobs(t.Context()); !errors.Is(err, unreachable) {
		t.Errorf("the error is %v", err)
	}
}
