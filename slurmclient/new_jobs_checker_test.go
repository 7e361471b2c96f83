package slurmclient

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestWhenNewJobsAreRead(t *testing.T) {
	begin := time.Unix(1795219836, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	polled := func(s, took float64) Poll {
		return Poll{Known: true, ReadAt: at(s), Took: time.Duration(took * float64(time.Second))}
	}
	failed := polled(0, 0.01)
	failed.Err = errors.New("no answer")
	updated := &slurm.Stats{JobsSubmitted: 5, RPCsByType: []slurm.RPC{{Name: "REQUEST_UPDATE_JOB", Count: 1}}}
	type look struct {
		at    float64
		stats *slurm.Stats
		jobs  Poll
		want  bool
	}
	first := look{0, &slurm.Stats{JobsSubmitted: 5}, polled(0, 0.01), false}
	for name, looks := range map[string][]look{
		"nothing new":                {first, {1, &slurm.Stats{JobsSubmitted: 5}, polled(0, 0.01), false}},
		"a new job":                  {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true}},
		"a released job":             {first, {1, updated, polled(0, 0.01), true}},
		"the same job counts once":   {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true}, {2, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), false}},
		"read again after the delay": {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true}, {4, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), true}, {5, &slurm.Stats{JobsSubmitted: 6}, polled(4, 0.01), false}},
		"slow polls are delayed":     {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.2), false}, {2.9, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.2), false}, {4, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.2), true}},
		"while polls fail":           {first, {1, &slurm.Stats{JobsSubmitted: 6}, failed, false}, {2, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), true}},
		"before the first reading":   {first, {1, &slurm.Stats{JobsSubmitted: 6}, Poll{}, false}},
	} {
		var l newJobsChecker
		for i, k := range looks {
			if got := l.shouldPoll(at(k.at), k.stats, k.jobs); got != k.want {
				t.Errorf("%s: at check %d it is %v", name, i, got)
			}
		}
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
