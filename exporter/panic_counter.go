package exporter

import (
	"slices"
	"strings"
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// stage is the step of processing a snapshot in which a computation panicked.
type stage string

const (
	stagePoll    stage = "poll"    // reading a resource
	stageTotal   stage = "total"   // summing nodes, jobs or demand for several collectors
	stageRender  stage = "render"  // rendering a collector
	stageObserve stage = "observe" // comparing a snapshot with the previous one
)

// computation identifies a computation that can panic.
type computation struct {
	stage stage
	part  string
}

// panicCounter counts computations that panicked and reports each of them.
type panicCounter struct {
	onPanic func(error) // may be nil

	mu     sync.Mutex
	counts map[computation]uint64
}

func newPanicCounter(failed func(error)) *panicCounter {
	return &panicCounter{onPanic: failed, counts: map[computation]uint64{
		{stageTotal, "nodes"}: 0, {stageTotal, "jobs"}: 0, {stageTotal, "demand"}: 0, {stageObserve, "jobs"}: 0,
	}}
}

// guard calls f and reports whether it returned without a panic.
func (p *panicCounter) guard(s stage, part string, f func()) bool {
	err := slurmclient.Guard(string(s)+" of "+part, f)
	p.countError(s, part, err)
	return err == nil
}

// countError counts and reports an error of the computation; it ignores nil.
func (p *panicCounter) countError(s stage, part string, err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	p.counts[computation{s, part}]++
	p.mu.Unlock()
	if p.onPanic != nil {
		p.onPanic(err)
	}
}

// each calls put with every guarded computation, in a stable order.
func (p *panicCounter) each(put func(c computation, count uint64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []computation
	for c := range p.counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b computation) int {
		return strings.Compare(string(a.stage)+" "+a.part, string(b.stage)+" "+b.part)
	})
	for _, c := range all {
		put(c, p.counts[c])
	}
}
