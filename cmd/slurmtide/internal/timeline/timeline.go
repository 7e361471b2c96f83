// Package timeline records samples of a cluster that scales up and down: the queue, the required
// and desired workers of NodeSets, and the workers. It is pure.
package timeline

import (
	"strconv"
	"time"
)

// Reading is a number that may be unknown. The zero value is unknown.
type Reading struct {
	Value int
	Known bool
}

// Known returns a known number.
func Known(v int) Reading { return Reading{Value: v, Known: true} }

// State is the state of a worker, derived from its pod and its Slurm node.
type State uint8

// The states of a worker.
const (
	// Absent: it has no pod, and at most a FUTURE record in Slurm.
	Absent State = iota
	// Starting: it has a pod but is not in service in Slurm yet.
	Starting
	// Idle: it is in service without work.
	Idle
	// Busy: it has work.
	Busy
	// Draining: it is drained in Slurm, with or without work.
	Draining
	// Terminating: its pod is being deleted.
	Terminating
	// Lost: it is down or does not respond in Slurm although its pod is ready.
	Lost
	stateCount // how many there are
)

// String returns the name of the state in lower case.
func (s State) String() string {
	return [stateCount]string{"absent", "starting", "idle", "busy", "draining", "going", "lost"}[s]
}

// States returns all states except Absent in their order.
func States() []State { return []State{Starting, Idle, Busy, Draining, Terminating, Lost} }

// Worker is a worker of a NodeSet.
type Worker struct {
	Name  string
	State State
}

// Set is the state of a NodeSet at one time.
type Set struct {
	Name string
	// Max is the maximum number of workers.
	Max int
	// Required is the metric that the autoscaler reads, Desired is spec.replicas.
	Required, Desired Reading
	// Known is false when the workers were not read. Workers is then empty.
	Known bool
	// Workers are the workers that are not Absent, sorted by name.
	Workers []Worker
}

// Count returns the number of workers in any of the states.
func (s Set) Count(in ...State) int {
	n := 0
	for _, w := range s.Workers {
		for _, state := range in {
			if w.State == state {
				n++
			}
		}
	}
	return n
}

// AtZero reports whether the set is known to have no workers and no replicas.
func (s Set) AtZero() bool {
	return s.Known && len(s.Workers) == 0 && s.Desired == Known(0)
}

// Sample is the state of the cluster at one time.
type Sample struct {
	// At is the time since submission. It is negative before.
	At time.Duration
	// Pending, Running and Done count jobs. Each array task counts as one job.
	Pending, Running, Done Reading
	// Jobs is the number of jobs that can run.
	Jobs int
	Sets []Set
}

// AtZero reports whether every NodeSet is at zero. It is false without NodeSets.
func (s Sample) AtZero() bool {
	for _, set := range s.Sets {
		if !set.AtZero() {
			return false
		}
	}
	return len(s.Sets) > 0
}

// Mark is a labelled time.
type Mark struct {
	At   time.Duration
	Text string
}

// Timeline contains the samples and marks in order of time.
type Timeline struct {
	Samples []Sample
	Marks   []Mark
}

// Last returns the newest sample, or the zero Sample before the first one.
func (t *Timeline) Last() Sample {
	if len(t.Samples) == 0 {
		return Sample{}
	}
	return t.Samples[len(t.Samples)-1]
}

// Span returns the times of the first and the last sample.
func (t *Timeline) Span() (from, to time.Duration) {
	if len(t.Samples) == 0 {
		return 0, 0
	}
	return t.Samples[0].At, t.Last().At
}

// String returns the number, or "?" when it is unknown.
func (r Reading) String() string {
	if !r.Known {
		return "?"
	}
	return strconv.Itoa(r.Value)
}
