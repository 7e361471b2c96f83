// Package timeline keeps what was seen of a cluster that grows and shrinks, moment by
// moment: the queue, what NodeSets need and have, and their workers. It is pure.
package timeline

import (
	"strconv"
	"time"
)

// Reading is a number that may not be known. The zero value is not known.
type Reading struct {
	Value int
	Known bool
}

// Known is a number that was read.
func Known(v int) Reading { return Reading{Value: v, Known: true} }

// State is what a worker is at a moment: of its pod and of its Slurm node that which
// tells more.
type State uint8

// The states of a worker. Absent has no pod, and no Slurm node but a FUTURE record.
const (
	Absent State = iota
	// Starting has a pod, and is not in service in Slurm yet.
	Starting
	// Idle is in service without work.
	Idle
	// Busy has work.
	Busy
	// Draining is drained, with work or without.
	Draining
	// Going has a pod that is being deleted.
	Going
	// Lost is down in Slurm, or does not respond, though its pod is ready.
	Lost
	states // how many there are
)

// String is the state's name, in lower case.
func (s State) String() string {
	return [states]string{"absent", "starting", "idle", "busy", "draining", "going", "lost"}[s]
}

// States returns all states that a worker that is there may have, in their order.
func States() []State { return []State{Starting, Idle, Busy, Draining, Going, Lost} }

// Worker is one worker of a NodeSet.
type Worker struct {
	Name  string
	State State
}

// Set is a NodeSet at a moment.
type Set struct {
	Name string
	// Max is the most workers it may have.
	Max int
	// Required is what its autoscaler is told, Desired its spec.replicas.
	Required, Desired Reading
	// Known is false when its workers were not read, which are then none.
	Known bool
	// Workers are those that are not Absent, by name.
	Workers []Worker
}

// Count tells how many workers are in one of the states.
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

// AtZero reports that it is known that nothing of it is left, and nothing wanted.
func (s Set) AtZero() bool {
	return s.Known && len(s.Workers) == 0 && s.Desired == Known(0)
}

// Sample is what was seen at a moment.
type Sample struct {
	// At is the time since jobs were submitted; it is negative before.
	At time.Duration
	// Pending, Running and Done count jobs, a task of an array as one.
	Pending, Running, Done Reading
	// Jobs is how many are to run.
	Jobs int
	Sets []Set
}

// AtZero reports that every NodeSet is at zero.
func (s Sample) AtZero() bool {
	for _, set := range s.Sets {
		if !set.AtZero() {
			return false
		}
	}
	return len(s.Sets) > 0
}

// Mark is a moment worth a line.
type Mark struct {
	At   time.Duration
	Text string
}

// Timeline is all that was seen, in order of time.
type Timeline struct {
	Samples []Sample
	Marks   []Mark
}

// Last is the newest sample, the zero one without any.
func (t *Timeline) Last() Sample {
	if len(t.Samples) == 0 {
		return Sample{}
	}
	return t.Samples[len(t.Samples)-1]
}

// Span is the time from the first sample to the last.
func (t *Timeline) Span() (from, to time.Duration) {
	if len(t.Samples) == 0 {
		return 0, 0
	}
	return t.Samples[0].At, t.Last().At
}

// String is the number, or "?" when it is not known.
func (r Reading) String() string {
	if !r.Known {
		return "?"
	}
	return strconv.Itoa(r.Value)
}
