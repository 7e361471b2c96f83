package slurmctld

import "github.com/slurmtide/slurmtide/slurmclient/slurm"

// Stats are what sdiag shows.
type Stats struct {
	Since                                                     slurm.Time
	Submitted, Started, Completed, Cancelled, Failed          uint64
	Cycles, Depth, LastDepth, LastCycleMicros, SumCycleMicros uint64
	MaxCycleMicros                                            uint64
	QueueLength                                               uint64
	LastCycle, JobStatesAt                                    slurm.Time
	Pending, Running                                          uint64
	// purgePending is whether purged jobs are still in the table.
	purgePending bool
}

// countStates counts pending and running jobs as slurmctld does from time to time: each task of an
// array counts.
func (c *Cluster) countStates() {
	c.stats.Pending, c.stats.Running, c.stats.JobStatesAt = 0, 0, c.now
	for _, j := range c.jobs {
		switch {
		case j.isBase() && j.pending():
			c.stats.Pending += uint64(len(j.array.tasks))
		case j.pending():
			c.stats.Pending++
		case j.state() == slurm.JobRunning:
			c.stats.Running++
		}
	}
}

// ReadStats returns what sdiag shows, and the model's time.
func (c *Cluster) ReadStats() (Stats, slurm.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.countStates()
	return c.stats, c.now
}
