package slurmtest

import (
	"container/heap"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// event is due at a time, for a job or a node. An event that names neither moves reservations and
// runs the scheduler.
type event struct {
	at   slurm.Time
	job  *job
	node *node
}

// eventQueue is a queue ordered by time.
type eventQueue struct{ list eventHeap }

func (e *eventQueue) add(at slurm.Time, ev event) {
	ev.at = at
	heap.Push(&e.list, ev)
}

// next returns the first event that is due by now.
func (e *eventQueue) next(now slurm.Time) (event, bool) {
	if len(e.list) == 0 || e.list[0].at > now {
		return event{}, false
	}
	return heap.Pop(&e.list).(event), true
}

// nextTime returns the time of the first event.
func (e *eventQueue) nextTime() (slurm.Time, bool) {
	if len(e.list) == 0 {
		return 0, false
	}
	return e.list[0].at, true
}

type eventHeap []event

func (h eventHeap) Len() int           { return len(h) }
func (h eventHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h eventHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)        { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
