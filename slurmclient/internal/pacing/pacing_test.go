package pacing

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPauseAfter(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		period, took time.Duration
		share        float64
		failures     int
		want         time.Duration
	}{
		"a quick poll keeps the period":                    {10 * s, s, 0.25, 0, 10 * s},
		"a long poll extends the pause":                    {10 * s, 10 * s, 0.25, 0, 30 * s},
		"half of the time is allowed":                      {s, 10 * s, 0.5, 0, 10 * s},
		"the first failure keeps the period":               {5 * s, 0, 0.25, 1, 5 * s},
		"every later failure doubles the pause":            {5 * s, 0, 0.25, 3, 20 * s},
		"a pause after failures is never longer than 30 s": {5 * s, 0, 0.25, 9, 30 * s},
		"nor longer than eight periods":                    {s / 10, 0, 0.25, 9, 8 * s / 10},
		"a long period is not shortened by failures":       {300 * s, 0, 0.25, 2, 300 * s},
		"a failure that took long pauses for as long":      {s, 17 * s, 0.25, 1, 17 * s},
		"but for 30 s at most":                             {s, 50 * s, 0.25, 1, 30 * s},
		"very many failures do not overflow":               {5 * s, 0, 0.25, 1 << 30, 30 * s},
	} {
		if got := PauseAfter(c.period, c.took, c.share, c.failures); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRecordsInDoubtMayTakeHalfOfTheTime(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		took, catchUp time.Duration
		share         float64
		want          time.Duration // pause
	}{
		"no doubt":                         {8 * s, 0, 0.25, 24 * s},
		"nothing but doubt":                {20 * s, 20 * s, 0.25, 20 * s},
		"doubt and changes":                {12 * s, 8 * s, 0.25, 20 * s},
		"a little doubt":                   {2 * s, 2 * s, 0.25, 10 * s},
		"more of the time is allowed":      {20 * s, 20 * s, 0.8, 10 * s},
		"exactly half of it is allowed":    {20 * s, 20 * s, 0.5, 20 * s},
		"less than a quarter, and a doubt": {20 * s, 20 * s, 0.1, 20 * s},
	} {
		if got := PauseAfter(10*s, Spent(c.took, c.catchUp, c.share), c.share, 0).Round(time.Millisecond); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestJitterStaysWithinATenth(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		got := AddJitter(time.Second)
		if got < 900*time.Millisecond || got > 1100*time.Millisecond {
			t.Fatalf("a second became %v", got)
		}
		seen[got] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different pauses of 1,000", len(seen))
	}
}

func TestAShortNodeListHasNoGate(t *testing.T) {
	begin := time.Unix(1795219836, 0)
	for name, c := range map[string]struct {
		known int
		after time.Duration
		want  slurm.Time
	}{
		"no node known":               {0, 0, 0},
		"a short list":                {maxUngatedNodes, 0, 0},
		"a longer one":                {maxUngatedNodes + 1, 0, 7},
		"a longer one, after a while": {maxUngatedNodes + 1, gateLifetime, 0},
	} {
		g := Gate{since: 7, opened: begin}
		if got := g.NodesUpdateTime(begin.Add(c.after), 0, c.known); got != c.want {
			t.Errorf("%s: update_time is %d, want %d", name, got, c.want)
		}
	}
}

func TestAGateEndsWithItsServer(t *testing.T) {
	now := time.Unix(1795219836, 0)
	var g Gate
	g.RecordAnswer(now, 3, 0, 7)
	if got := g.UpdateTime(now, 3); got != 7 {
		t.Errorf("the same server gets update_time %d", got)
	}
	if got := g.UpdateTime(now, 4); got != 0 {
		t.Errorf("another server gets update_time %d", got)
	}
}

func TestWhenNewJobsAreRead(t *testing.T) {
	begin := time.Unix(1795219836, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	polled := func(s, took float64) LastPoll {
		return LastPoll{Succeeded: true, ReadAt: at(s), Took: time.Duration(took * float64(time.Second))}
	}
	failed := polled(0, 0.01)
	failed.Succeeded = false
	updated := &slurm.Stats{JobsSubmitted: 5, RPCsByType: []slurm.RPC{{Name: "REQUEST_UPDATE_JOB", Count: 1}}}
	type look struct {
		at    float64
		stats *slurm.Stats
		jobs  LastPoll
		want  bool
	}
	first := look{0, &slurm.Stats{JobsSubmitted: 5}, polled(0, 0.01), false}
	for name, looks := range map[string][]look{
		"nothing new":    {first, {1, &slurm.Stats{JobsSubmitted: 5}, polled(0, 0.01), false}},
		"a new job":      {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true}},
		"a released job": {first, {1, updated, polled(0, 0.01), true}},
		"the same job counts once": {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true},
			{2, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), false}},
		"read again after the delay": {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.01), true},
			{4, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), true},
			{5, &slurm.Stats{JobsSubmitted: 6}, polled(4, 0.01), false}},
		"slow polls are delayed": {first, {1, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.7), false},
			{2.9, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.7), false},
			{4, &slurm.Stats{JobsSubmitted: 6}, polled(0, 0.7), true}},
		"while polls fail": {first, {1, &slurm.Stats{JobsSubmitted: 6}, failed, false},
			{2, &slurm.Stats{JobsSubmitted: 6}, polled(1, 0.01), true}},
		"before the first reading": {first, {1, &slurm.Stats{JobsSubmitted: 6}, LastPoll{}, false}},
	} {
		var l NewJobs
		for i, k := range looks {
			if got := l.ShouldPoll(at(k.at), k.stats, k.jobs); got != k.want {
				t.Errorf("%s: at check %d it is %v", name, i, got)
			}
		}
	}
}
