package slurmtest

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// runJobEvent does what is due for the job now.
func (c *Cluster) jobDue(j *job) {
	if j.gone || j.due > c.now {
		return
	}
	s := j.view().State
	switch {
	case s.Has(slurm.JobCompleting):
		c.release(j)
	case s.Base == slurm.JobRunning:
		c.finishDue(j)
	case s.Base.Finished():
		j.gone = true
		c.stats.purged = true
	}
}

// endDueJob ends a job that has finished or reached its time limit.
func (c *Cluster) finishDue(j *job) {
	v := j.view()
	_, limited := j.wish.minutes.Value()
	switch {
	case limited && c.now >= v.EndTime && (j.result.never || v.StartTime+j.runFor > v.EndTime):
		c.end(j, slurm.JobTimeout, "TimeLimit", exitCode{})
	case j.result.exit.signal != 0:
		c.end(j, slurm.JobFailed, "RaisedSignal", j.result.exit)
	case j.result.exit.code != 0:
		c.end(j, slurm.JobFailed, "NonZeroExitCode", j.result.exit)
	default:
		c.end(j, slurm.JobCompleted, "None", exitCode{})
	}
}

// endJob puts the job into a final state. Its allocation is released after the job has been
// COMPLETING for a moment.
func (c *Cluster) end(j *job, base slurm.JobBase, reason string, exit exitCode) {
	running := len(j.grants) > 0
	r := c.edit(j)
	r.State = slurm.JobState{Base: base}
	r.Reason, r.ReasonText, r.exit = reason, "", exit
	r.EndTime = c.now
	if r.StartTime == 0 || r.StartTime > c.now {
		r.StartTime = c.now
	}
	r.EligibleTime = orNow(r.EligibleTime, c.now)
	r.flags &^= flagWasRunning | flagDependent
	r.Flags = c.flagText(r.flags)
	c.countEnd(base)
	c.wakeDependents()
	if !running {
		c.dueAt(j, c.now+c.age())
		return
	}
	r.State.Flags = slurm.JobCompleting
	c.leave(j)
	for _, g := range j.grants {
		c.touchNode(g.node)
	}
	c.dueAt(j, c.now+max(1, slurm.Time(c.cfg.Completing.Seconds())))
}

// releaseLimits stops counting the job against limits and returns its licenses.
func (c *Cluster) leave(j *job) {
	if a := j.array; a != nil {
		a.running--
	}
	c.running.add(j, -1)
	v := j.view()
	c.used[v.UserName] += uint64(max(0, c.now-v.StartTime)) * v.CPUs.Or(0)
	c.returnLicenses(j.wish.licenses)
	c.dirty = true
}

// finishCompleting releases the nodes of a completing job.
func (c *Cluster) release(j *job) {
	r := c.edit(j)
	r.State.Flags &^= slurm.JobCompleting
	c.freeGrants(j)
	if r.State.Base == slurm.JobPending { // requeued
		return
	}
	c.dueAt(j, c.now+c.age())
}

func (c *Cluster) freeGrants(j *job) {
	for _, g := range j.grants {
		g.free(j)
		g.node.edit(c.gen).LastBusy = c.now
		c.touchNode(g.node)
	}
	j.grants = nil
	c.dirty = true
}

func (c *Cluster) age() slurm.Time { return max(1, slurm.Time(c.cfg.MinJobAge.Seconds())) }

func (c *Cluster) countEnd(base slurm.JobBase) {
	switch base {
	case slurm.JobCompleted:
		c.stats.completed++
	case slurm.JobCancelled:
		c.stats.cancelled++
	default:
		c.stats.failed++
	}
}
