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
	c.advance(c.now + slurm.Time(d/time.Second))
}

// advanceTo moves the model to the given time.
func (c *Cluster) advance(to slurm.Time) {
	c.settle()
	for {
		at, ok := c.events.first()
		if !ok || at > to {
			break
		}
		c.now = max(c.now, at)
		c.settle()
	}
	c.now = max(c.now, to)
	c.settle()
}

// runDueEvents runs what is due now, then the scheduler.
func (c *Cluster) settle() {
	for {
		ev, ok := c.events.next(c.now)
		if !ok {
			break
		}
		switch {
		case ev.job != nil:
			c.jobDue(ev.job)
		case ev.node != nil:
			c.nodeDue(ev.node)
		default:
			c.moveReservations()
			c.dirty = true
		}
	}
	if c.stats.purged {
		c.stats.purged = false
		c.purge()
	}
	if c.dirty {
		c.schedule()
	}
}

// nodeDue makes a node respond again.
func (c *Cluster) nodeDue(n *node) {
	if n.pingAt == 0 || n.pingAt > c.now {
		return
	}
	n.pingAt = 0
	n.flags &^= slurm.NodeNotResponding
	c.touchNode(n)
	c.dirty = true
}
