package play

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

// Config configures a play.
type Config struct {
	Shapes []burst.Shape
	// SampleInterval is the time between two samples. ZeroPeriod is how long the NodeSets are
	// observed at zero before and after the burst. Timeout limits the whole play.
	Pause, Calm, Limit time.Duration
	// Show is called after each sample. It owns the View that it receives.
	Show func(View)
}

// View is the state of a play.
type View struct {
	Line     timeline.Timeline
	Outcomes []burst.Outcome
	// Err is why the last observation was incomplete, nil when it was complete.
	Err error
}

// player runs one play.
type player struct {
	Config
	world     World
	start     time.Time // submission of the burst
	line      timeline.Timeline
	outcomes  []burst.Outcome
	submitted chan submission
	reported  bool
	cancelled bool
	overAt    time.Time
	zeroAt    time.Time
}

// submission is the result of one sbatch.
type submission struct {
	shape int
	id    uint32
	err   error
}

// Run plays once. It returns the result when the NodeSets are at zero again or the timeout has
// passed. The error is the cause of ctx.
func Run(ctx context.Context, world World, cfg Config) (Result, error) {
	p := &player{Config: cfg, world: world, start: time.Now().
		Add(cfg.Calm), submitted: make(chan submission, len(cfg.Shapes))}
	for _, s := range cfg.Shapes {
		p.outcomes = append(p.outcomes, burst.Outcome{Shape: s})
	}
	tick := time.NewTicker(cfg.Pause)
	defer tick.Stop()
	end := p.start.Add(cfg.Limit)
	var submitting sync.WaitGroup
	defer submitting.Wait()
	begun := make(chan struct{})
	for now := time.Now(); now.Before(end); now = time.Now() {
		if !closed(begun) && !now.Before(p.start) {
			p.start = now
			close(begun)
			p.mark("jobs are submitted")
			submitting.Go(func() { p.submit(ctx) })
		}
		if p.look(ctx); p.calm(time.Now()) {
			return p.result(), nil
		}
		select {
		case <-ctx.Done():
			return p.result(), context.Cause(ctx)
		case <-tick.C:
		}
	}
	return p.result(), nil
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// submitJobs submits all jobs in order.
func (p *player) submit(ctx context.Context) {
	for i, s := range p.Shapes {
		id, err := p.world.Submit(ctx, s)
		p.submitted <- submission{i, id, err}
	}
}

func (p *player) mark(text string) {
	p.line.Marks = append(p.line.Marks, timeline.Mark{At: time.Since(p.start), Text: text})
}

// takeSample takes one sample and cancels jobs that never fit once the metrics have reported them.
func (p *player) look(ctx context.Context) {
	p.answered()
	at := time.Since(p.start)
	observed, err := p.world.Look(ctx)
	if ctx.Err() != nil {
		return
	}
	sample := observed.Sample
	sample.At = at
	if observed.JobsKnown {
		for i, o := range p.outcomes {
			p.outcomes[i] = o.See(observed.Jobs)
		}
		pending, running, done := burst.Count(p.outcomes)
		sample.Pending, sample.Running, sample.Done = timeline.Known(pending), timeline.Known(running),
			timeline.Known(done)
	}
	for _, o := range p.outcomes {
		if !o.Unfit {
			sample.Jobs += o.Tasks
		}
	}
	p.line.Samples = append(p.line.Samples, sample)
	if observed.Unsatisfiable.Value > 0 && !p.reported && p.waitsForEver() {
		p.reported = true
		p.mark("the job that never fits is reported")
	}
	p.takeBack(ctx)
	p.Show(View{
		Line:     timeline.Timeline{Samples: slices.Clone(p.line.Samples), Marks: slices.Clone(p.line.Marks)},
		Outcomes: slices.Clone(p.outcomes), Err: err,
	})
}

// hasNeverFittingJob reports whether Slurm has accepted a job that never fits.
func (p *player) waitsForEver() bool {
	for _, o := range p.outcomes {
		if o.Unfit && o.ID != 0 {
			return true
		}
	}
	return false
}

// recordSubmissions records the submissions that have finished.
func (p *player) answered() {
	for {
		select {
		case s := <-p.submitted:
			p.outcomes[s.shape].ID = s.id
			if s.err != nil {
				p.outcomes[s.shape].Refused = s.err.Error()
			}
		default:
			return
		}
	}
}

// reportLimit is how long the metrics may take to report a job that never fits after all other jobs
// have ended.
const reportLimit = 20 * time.Second

// cancelNeverFits cancels the jobs that never fit after all other jobs have ended and the metrics
// have reported them.
func (p *player) takeBack(ctx context.Context) {
	if !burst.Over(p.outcomes) || p.cancelled {
		return
	}
	if p.overAt.IsZero() {
		p.overAt = time.Now()
	}
	if !p.reported && time.Since(p.overAt) < reportLimit {
		return
	}
	p.cancelled = true
	for _, o := range p.outcomes {
		if o.Unfit && o.ID != 0 {
			if err := p.world.Cancel(ctx, o.ID); err != nil {
				p.cancelled = false // the next sample tries again
			}
		}
	}
}

// isSettled reports whether all jobs have ended and the NodeSets have stayed at zero for
// ZeroPeriod.
func (p *player) calm(now time.Time) bool {
	for _, o := range p.outcomes {
		if !o.Over() {
			return false
		}
	}
	if !p.line.Last().AtZero() {
		p.zeroAt = time.Time{}
		return false
	}
	if p.zeroAt.IsZero() {
		p.zeroAt = now
	}
	return now.Sub(p.zeroAt) >= p.Calm
}

func (p *player) result() Result {
	return Result{Line: p.line, Summary: burst.Sum(p.outcomes, p.reported), Outcomes: p.outcomes, Zero: p.line.Last().
		AtZero(), Reported: p.reported}
}
