package play

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// fakeEnvironment starts one worker for each job two seconds after its submission.
type fakeEnvironment struct {
	mu       sync.Mutex
	begun    map[uint32]time.Time
	shapes   map[uint32]burst.JobTemplate
	canceled map[uint32]bool
	// broken makes observations fail, stuck keeps the last worker, losing hides jobs, silent does
	// not report the job that never fits, refusing rejects it.
	broken, stuck, losing, silent, refusing bool
}

func newFakeEnvironment() *fakeEnvironment {
	return &fakeEnvironment{begun: map[uint32]time.Time{}, shapes: map[uint32]burst.JobTemplate{},
		canceled: map[uint32]bool{}}
}

func (w *fakeEnvironment) Submit(_ context.Context, s burst.JobTemplate) (uint32, error) {
	if s.NeverFits && w.refusing {
		return 0, errors.New("node count specification invalid")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := uint32(len(w.begun) + 1)
	w.begun[id], w.shapes[id] = time.Now(), s
	return id, nil
}

func (w *fakeEnvironment) Cancel(_ context.Context, id uint32) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.canceled[id] = true
	return nil
}

func (w *fakeEnvironment) Observe(context.Context) (Observation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return Observation{Sample: timeline.Sample{Sets: []timeline.Set{{Name: "cpu"}}}},
			errors.New("connection refused")
	}
	observed := Observation{JobsKnown: true, Unsatisfiable: timeline.Known(0)}
	set := timeline.Set{Name: "cpu", Known: true}
	for id, begun := range w.begun {
		state := w.jobState(id, time.Since(begun))
		if w.shapes[id].NeverFits && !w.silent && !w.canceled[id] {
			observed.Unsatisfiable = timeline.Known(1)
		}
		if state == "RUNNING" || w.stuck {
			set.Workers = append(set.Workers, timeline.Worker{Name: "cpu-0", State: timeline.Busy})
		}
		if !w.losing {
			observed.Jobs = append(observed.Jobs, &slurm.Job{ID: id, State: slurm.ParseJobState(state)})
		}
	}
	set.Required, set.Desired = timeline.Known(len(set.Workers)), timeline.Known(len(set.Workers))
	observed.Sample.Sets = []timeline.Set{set}
	return observed, nil
}

func (w *fakeEnvironment) jobState(id uint32, since time.Duration) string {
	s := w.shapes[id]
	switch {
	case w.canceled[id]:
		return "CANCELLED"
	case s.NeverFits || since < 2*time.Second:
		return "PENDING"
	case since < 2*time.Second+time.Duration(s.Seconds)*time.Second:
		return "RUNNING"
	}
	return "COMPLETED"
}

func testConfig() Config {
	return Config{
		Templates: []burst.JobTemplate{{Title: "short", Tasks: 1, Seconds: 3}, {Title: "long", Tasks: 1, Seconds: 10},
			{Title: "huge", Tasks: 1, NeverFits: true}},
		SampleInterval: 500 * time.Millisecond, ZeroPeriod: 2 * time.Second, Timeout: time.Minute, Show: func(View) {},
	}
}

func TestTheVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fakeEnvironment)
		want   string // part of the verdict, empty for none
	}{
		"everything works":                      {func(*fakeEnvironment) {}, ""},
		"Slurm rejects the job that never fits": {func(w *fakeEnvironment) { w.refusing = true }, ""},
		"a worker stays": {func(w *fakeEnvironment) { w.stuck = true },
			"the NodeSets did not return to zero: cpu has"},
		"jobs are lost": {func(w *fakeEnvironment) { w.losing = true },
			"2 of 2 jobs did not run to completion"},
		"observations fail": {func(w *fakeEnvironment) { w.broken = true },
			"2 of 2 jobs did not run to completion"},
		"the job that never fits is not reported": {func(w *fakeEnvironment) { w.silent = true },
			"not reported as unsatisfiable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeEnvironment()
				c.change(w)
				r, err := Run(t.Context(), w, testConfig())
				if err != nil {
					t.Fatal(err)
				}
				verdict := r.Verdict()
				switch {
				case c.want == "" && verdict != nil:
					t.Errorf("the verdict is: %v; %+v", verdict, r.Summary)
				case c.want != "" && (verdict == nil || !strings.Contains(verdict.Error(), c.want)):
					t.Errorf("the verdict is %v, which does not contain %q", verdict, c.want)
				}
			})
		})
	}
}

func TestAPlayShowsZeroBeforeAndAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), newFakeEnvironment(), testConfig())
		if err != nil {
			t.Fatal(err)
		}
		from, to := r.Timeline.Span()
		if from != -2*time.Second || to < 14*time.Second || to > 15*time.Second {
			t.Errorf("it lasted from %v to %v", from, to)
		}
		if !r.Timeline.Samples[0].AtZero() || !r.Timeline.Last().AtZero() {
			t.Error("it was not at zero before or after")
		}
	})
}

func TestReportsOfAnEarlierPlayDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &player{Config: testConfig(), environment: staleEnvironment{newFakeEnvironment()}, start: time.Now(),
			submitted: make(chan submission)}
		p.outcomes = []burst.Outcome{{JobTemplate: burst.JobTemplate{Tasks: 1, NeverFits: true}}}
		if p.takeSample(t.Context()); p.reported {
			t.Error("a job that is not submitted yet counts as reported")
		}
		p.outcomes[0].ID = 7
		if p.takeSample(t.Context()); !p.reported {
			t.Error("a job that is submitted does not count as reported")
		}
	})
}

// staleEnvironment is an environment whose metrics always report a job that never fits.
type staleEnvironment struct{ *fakeEnvironment }

func (s staleEnvironment) Observe(ctx context.Context) (Observation, error) {
	observed, err := s.fakeEnvironment.Observe(ctx)
	observed.Unsatisfiable = timeline.Known(1)
	return observed, err
}

func TestAnInterruptedPlayReturnsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := Run(ctx, newFakeEnvironment(), testConfig()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestWorkerState(t *testing.T) {
	node := func(state string) *slurm.Node {
		return &slurm.Node{State: slurm.ParseNodeState(strings.Split(state, "+")...)}
	}
	ready := Pod{Ready: true}
	for name, c := range map[string]struct {
		pod  Pod
		node *slurm.Node
		want timeline.State
	}{
		"a new pod without a Slurm record":        {Pod{}, nil, timeline.Starting},
		"a pod whose record is FUTURE":            {ready, node("FUTURE+DYNAMIC_NORM"), timeline.Starting},
		"a starting pod whose node is still down": {Pod{}, node("DOWN"), timeline.Starting},
		"a down node although the pod is ready":   {ready, node("DOWN+NOT_RESPONDING"), timeline.Lost},
		"an idle node":                            {ready, node("IDLE+DYNAMIC_NORM"), timeline.Idle},
		"a node that does not respond yet":        {ready, node("IDLE+NOT_RESPONDING"), timeline.Starting},
		"a node with a job":                       {ready, node("ALLOCATED+DYNAMIC_NORM"), timeline.Busy},
		"a node with free CPUs":                   {ready, node("MIXED"), timeline.Busy},
		"a node whose job is completing":          {ready, node("IDLE+COMPLETING"), timeline.Busy},
		"a drained node":                          {ready, node("IDLE+DRAIN"), timeline.Draining},
		"a drained node with a job":               {ready, node("ALLOCATED+DRAIN"), timeline.Draining},
		"a pod that is being deleted": {Pod{Ready: true, Terminating: true}, node("IDLE"),
			timeline.Terminating},
	} {
		if got := WorkerState(c.pod, c.node); got != c.want {
			t.Errorf("%s is %v, want %v", name, got, c.want)
		}
	}
}
