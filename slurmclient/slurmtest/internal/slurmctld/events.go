package slurmctld

import (
	"container/heap"
	"time"

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

// Step advances the model by d. Jobs end, release their nodes and are purged, and the scheduler runs after every
// change. Step(0) runs the events that are due now. Fractions of a second are dropped.
func (c *Cluster) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advanceTo(c.now + slurm.Time(d/time.Second))
}

// advanceTo moves the model to the given time.
func (c *Cluster) advanceTo(to slurm.Time) {
	c.runDueEvents()
	for {
		at, ok := c.events.nextTime()
		if !ok || at > to {
			break
		}
		c.now = max(c.now, at)
		c.runDueEvents()
	}
	c.now = max(c.now, to)
	c.runDueEvents()
}

// runDueEvents runs the due events, then the scheduler.
func (c *Cluster) runDueEvents() {
	for {
		ev, ok := c.events.next(c.now)
		if !ok {
			break
		}
		switch {
		case ev.job != nil:
			c.runJobEvent(ev.job)
		case ev.node != nil:
			c.runNodeEvent(ev.node)
		default:
			c.moveReservations()
			c.needsScheduling = true
		}
	}
	if c.stats.purgePending {
		c.stats.purgePending = false
		c.purge()
	}
	if c.needsScheduling {
		c.schedule()
	}
}

// runNodeEvent makes a node respond again.
func (c *Cluster) runNodeEvent(n *node) {
	if n.pingAt == 0 || n.pingAt > c.now {
		return
	}
	n.pingAt = 0
	n.flags &^= slurm.NodeNotResponding
	c.updateNodeRecord(n)
	c.needsScheduling = true
}
