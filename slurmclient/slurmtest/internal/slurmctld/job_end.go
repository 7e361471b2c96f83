package slurmctld

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// runJobEvent runs the job's due event.
func (c *Cluster) runJobEvent(j *job) {
	if j.purged || j.due > c.now {
		return
	}
	s := j.View().State
	switch {
	case s.Has(slurm.JobCompleting):
		c.finishCompleting(j)
	case s.Base == slurm.JobRunning:
		c.endDueJob(j)
	case s.Base.Finished():
		j.purged = true
		c.stats.purgePending = true
	}
}

// endDueJob ends a job that has finished or reached its time limit.
func (c *Cluster) endDueJob(j *job) {
	v := j.View()
	_, limited := j.requirements.minutes.Value()
	switch {
	case limited && c.now >= v.EndTime && (j.result.forever || v.StartTime+j.runFor > v.EndTime):
		c.endJob(j, slurm.JobTimeout, "TimeLimit", ExitCode{})
	case j.result.exit.Signal != 0:
		c.endJob(j, slurm.JobFailed, "RaisedSignal", j.result.exit)
	case j.result.exit.Code != 0:
		c.endJob(j, slurm.JobFailed, "NonZeroExitCode", j.result.exit)
	default:
		c.endJob(j, slurm.JobCompleted, "None", ExitCode{})
	}
}

// endJob puts the job into a final state. Its allocation is released after the job has been
// COMPLETING for a moment.
func (c *Cluster) endJob(j *job, base slurm.JobBase, reason string, exit ExitCode) {
	running := len(j.allocations) > 0
	r := c.edit(j)
	r.State = slurm.JobState{Base: base}
	r.Reason, r.ReasonText, r.Exit = reason, "", exit
	r.EndTime = c.now
	if r.StartTime == 0 || r.StartTime > c.now {
		r.StartTime = c.now
	}
	r.EligibleTime = timeOrNow(r.EligibleTime, c.now)
	r.flags &^= flagWasRunning | flagDependent
	r.Flags = c.flagText(r.flags)
	c.countEndedJob(base)
	c.wakeDependents()
	if !running {
		c.setDue(j, c.now+c.minJobAge())
		return
	}
	r.State.Flags = slurm.JobCompleting
	c.releaseLimits(j)
	for _, g := range j.allocations {
		c.updateNodeRecord(g.node)
	}
	c.setDue(j, c.now+max(1, slurm.Time(c.cfg.CompletingTime.Seconds())))
}

// releaseLimits stops counting the job against limits and returns its licenses.
func (c *Cluster) releaseLimits(j *job) {
	if a := j.array; a != nil {
		a.running--
	}
	c.running.add(j, -1)
	v := j.View()
	c.usedCPUSeconds[v.UserName] += uint64(max(0, c.now-v.StartTime)) * v.CPUs.Or(0)
	c.returnLicenses(j.requirements.licenses)
	c.needsScheduling = true
}

// finishCompleting releases the nodes of a completing job.
func (c *Cluster) finishCompleting(j *job) {
	r := c.edit(j)
	r.State.Flags &^= slurm.JobCompleting
	c.releaseAllocations(j)
	if r.State.Base == slurm.JobPending { // requeued
		return
	}
	c.setDue(j, c.now+c.minJobAge())
}

func (c *Cluster) releaseAllocations(j *job) {
	for _, g := range j.allocations {
		g.release(j)
		g.node.Edit(c.generation).LastBusy = c.now
		c.updateNodeRecord(g.node)
	}
	j.allocations = nil
	c.needsScheduling = true
}

func (c *Cluster) minJobAge() slurm.Time { return max(1, slurm.Time(c.cfg.MinJobAge.Seconds())) }

func (c *Cluster) countEndedJob(base slurm.JobBase) {
	switch base {
	case slurm.JobCompleted:
		c.stats.Completed++
	case slurm.JobCancelled:
		c.stats.Cancelled++
	default:
		c.stats.Failed++
	}
}
