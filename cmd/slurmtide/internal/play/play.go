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
	Templates []burst.JobTemplate
	// SampleInterval is the time between two samples. ZeroPeriod is how long the NodeSets are
	// observed at zero before and after the burst. Timeout limits the whole play.
	SampleInterval, ZeroPeriod, Timeout time.Duration
	// Show is called after each sample. It owns the View that it receives.
	Show func(View)
}

// View is the state of a play.
type View struct {
	Timeline timeline.Timeline
	Outcomes []burst.Outcome
	// Err is why the last observation was incomplete, nil when it was complete.
	Err error
}

// player runs one play.
type player struct {
	Config
	environment Environment
	start       time.Time // submission of the burst
	timeline    timeline.Timeline
	outcomes    []burst.Outcome
	submitted   chan submission
	reported    bool
	cancelled   bool
	finishedAt  time.Time
	zeroAt      time.Time
}

// submission is the result of one sbatch.
type submission struct {
	shape int
	id    uint32
	err   error
}

// Run plays once. It returns the result when the NodeSets are at zero again or the timeout has
// passed. The error is the cause of ctx.
func Run(ctx context.Context, world Environment, cfg Config) (Result, error) {
	p := &player{Config: cfg, environment: world, start: time.Now().
		Add(cfg.ZeroPeriod), submitted: make(chan submission, len(cfg.Templates))}
	for _, s := range cfg.Templates {
		p.outcomes = append(p.outcomes, burst.Outcome{JobTemplate: s})
	}
	tick := time.NewTicker(cfg.SampleInterval)
	defer tick.Stop()
	end := p.start.Add(cfg.Timeout)
	var submitting sync.WaitGroup
	defer submitting.Wait()
	begun := make(chan struct{})
	for now := time.Now(); now.Before(end); now = time.Now() {
		if !isClosed(begun) && !now.Before(p.start) {
			p.start = now
			close(begun)
			p.addMark("jobs are submitted")
			submitting.Go(func() { p.submitJobs(ctx) })
		}
		if p.takeSample(ctx); p.isSettled(time.Now()) {
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

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// submitJobs submits all jobs in order.
func (p *player) submitJobs(ctx context.Context) {
	for i, s := range p.Templates {
		id, err := p.environment.Submit(ctx, s)
		p.submitted <- submission{i, id, err}
	}
}

func (p *player) addMark(text string) {
	p.timeline.Marks = append(p.timeline.Marks, timeline.Mark{At: time.Since(p.start), Text: text})
}

// takeSample takes one sample and cancels jobs that never fit once the metrics have reported them.
func (p *player) takeSample(ctx context.Context) {
	p.recordSubmissions()
	at := time.Since(p.start)
	observed, err := p.environment.Observe(ctx)
	if ctx.Err() != nil {
		return
	}
	sample := observed.Sample
	sample.At = at
	if observed.JobsKnown {
		for i, o := range p.outcomes {
			p.outcomes[i] = o.UpdatedFrom(observed.Jobs)
		}
		pending, running, done := burst.CountJobs(p.outcomes)
		sample.Pending, sample.Running, sample.Done = timeline.Known(pending), timeline.Known(running),
			timeline.Known(done)
	}
	for _, o := range p.outcomes {
		if !o.NeverFits {
			sample.Jobs += o.Tasks
		}
	}
	p.timeline.Samples = append(p.timeline.Samples, sample)
	if observed.Unsatisfiable.Value > 0 && !p.reported && p.hasNeverFittingJob() {
		p.reported = true
		p.addMark("the job that never fits is reported")
	}
	p.cancelNeverFits(ctx)
	p.Show(View{
		Timeline: timeline.Timeline{Samples: slices.Clone(p.timeline.Samples), Marks: slices.Clone(p.timeline.Marks)},
		Outcomes: slices.Clone(p.outcomes), Err: err,
	})
}

// hasNeverFittingJob reports whether Slurm has accepted a job that never fits.
func (p *player) hasNeverFittingJob() bool {
	for _, o := range p.outcomes {
		if o.NeverFits && o.ID != 0 {
			return true
		}
	}
	return false
}

// recordSubmissions records the submissions that have finished.
func (p *player) recordSubmissions() {
	for {
		select {
		case s := <-p.submitted:
			p.outcomes[s.shape].ID = s.id
			if s.err != nil {
				p.outcomes[s.shape].Refusal = s.err.Error()
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
func (p *player) cancelNeverFits(ctx context.Context) {
	if !burst.AllFinished(p.outcomes) || p.cancelled {
		return
	}
	if p.finishedAt.IsZero() {
		p.finishedAt = time.Now()
	}
	if !p.reported && time.Since(p.finishedAt) < reportLimit {
		return
	}
	p.cancelled = true
	for _, o := range p.outcomes {
		if o.NeverFits && o.ID != 0 {
			if err := p.environment.Cancel(ctx, o.ID); err != nil {
				p.cancelled = false // the next sample tries again
			}
		}
	}
}

// isSettled reports whether all jobs have ended and the NodeSets have stayed at zero for
// ZeroPeriod.
func (p *player) isSettled(now time.Time) bool {
	for _, o := range p.outcomes {
		if !o.Finished() {
			return false
		}
	}
	if !p.timeline.Last().AtZero() {
		p.zeroAt = time.Time{}
		return false
	}
	if p.zeroAt.IsZero() {
		p.zeroAt = now
	}
	return now.Sub(p.zeroAt) >= p.ZeroPeriod
}

func (p *player) result() Result {
	return Result{Timeline: p.timeline, Summary: burst.Summarize(p.outcomes, p.reported), Outcomes: p.outcomes,
		EndedAtZero: p.timeline.Last().
			AtZero(), Reported: p.reported}
}
