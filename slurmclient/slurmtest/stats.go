package slurmtest

import "github.com/slurmtide/slurmtide/slurmclient/slurm"

// stats are what sdiag shows.
type stats struct {
	since                                                     slurm.Time
	submitted, started, completed, cancelled, failed          uint64
	cycles, depth, lastDepth, lastCycleMicros, sumCycleMicros uint64
	maxCycleMicros                                            uint64
	queueLength                                               uint64
	lastCycle, jobStatesAt                                    slurm.Time
	pending, running                                          uint64
	// purgePending means that purged jobs still have to be dropped from the table.
	purgePending bool
}

// countStates counts pending and running jobs as slurmctld does from time to time: each task of an
// array counts.
func (c *Cluster) countStates() {
	c.stats.pending, c.stats.running, c.stats.jobStatesAt = 0, 0, c.now
	for _, j := range c.jobs {
		switch {
		case j.isBase() && j.pending():
			c.stats.pending += uint64(len(j.array.tasks))
		case j.pending():
			c.stats.pending++
		case j.state() == slurm.JobRunning:
			c.stats.running++
		}
	}
}
