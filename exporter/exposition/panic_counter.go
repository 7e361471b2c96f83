package exposition

import (
	"slices"
	"strings"
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// stage is the step of processing a snapshot in which a computation panicked.
type stage string

// The stages.
const (
	StagePoll    stage = "poll"    // reading a resource
	stageTotal   stage = "total"   // summing nodes, jobs or demand for several collectors
	stageRender  stage = "render"  // rendering a collector
	StageObserve stage = "observe" // comparing a snapshot with the previous one
)

// Computation identifies a computation that can panic.
type Computation struct {
	Stage stage
	Part  string
}

// PanicCounter counts computations that panicked and reports each of them.
type PanicCounter struct {
	onPanic func(error) // may be nil

	mu     sync.Mutex
	counts map[Computation]uint64
}

// NewPanicCounter returns a counter that calls failed with each error. failed may be nil.
func NewPanicCounter(failed func(error)) *PanicCounter {
	return &PanicCounter{onPanic: failed, counts: map[Computation]uint64{
		{stageTotal, "nodes"}: 0, {stageTotal, "jobs"}: 0, {stageTotal, "demand"}: 0, {StageObserve, "jobs"}: 0,
		{StageObserve, "usage"}: 0,
	}}
}

// Guard calls f and reports whether it returned without a panic.
func (p *PanicCounter) Guard(s stage, part string, f func()) bool {
	err := slurmclient.Guard(string(s)+" of "+part, f)
	p.countError(s, part, err)
	return err == nil
}

// countError counts and reports an error of the computation; it ignores nil.
func (p *PanicCounter) countError(s stage, part string, err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	p.counts[Computation{s, part}]++
	p.mu.Unlock()
	if p.onPanic != nil {
		p.onPanic(err)
	}
}

// Each calls put with every guarded computation, in a stable order.
func (p *PanicCounter) Each(put func(c Computation, count uint64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Computation
	for c := range p.counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Computation) int {
		return strings.Compare(string(a.Stage)+" "+a.Part, string(b.Stage)+" "+b.Part)
	})
	for _, c := range all {
		put(c, p.counts[c])
	}
}
