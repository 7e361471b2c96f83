package slurmtest

import (
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Step advances the model by d: jobs end, release their nodes and are purged, and the scheduler
// runs whenever something changed. Step(0) runs what is due now. Fractions of a second are dropped.
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

// runDueEvents runs what is due now, then the scheduler.
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
