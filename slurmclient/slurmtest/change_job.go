package slurmtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Cancel cancels a job, an array, or one task ("7_3"). Errors are *Refusal.
func (c *Cluster) Cancel(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.cancel(id, ""); r != nil {
		return r
	}
	return nil
}

// cancel cancels as user; "" is an administrator.
func (c *Cluster) cancel(id, user string) *Refusal {
	jobs := c.jobsToChange(id)
	if len(jobs) == 0 {
		return newRefusal(2017)
	}
	number := 2021
	for _, j := range slices.Clone(jobs) {
		if !c.mayChange(user, j) {
			return newRefusal(2010)
		}
		s := j.state()
		if s.Finished() {
			continue
		}
		number = 0
		exit := exitCode{}
		if s != slurm.JobPending {
			exit.signal = 15
		}
		c.endJob(j, slurm.JobCancelled, "None", exit)
	}
	return newRefusal(number)
}

// jobsToChange resolves an id. A task that has no record yet gets one.
func (c *Cluster) jobsToChange(id string) []*job {
	number, task, isTask := strings.Cut(id, "_")
	if isTask {
		n, err := strconv.ParseUint(number, 10, 32)
		t, err2 := strconv.ParseUint(task, 10, 32)
		if a := c.arrays[uint32(n)]; err == nil && err2 == nil && a != nil && a.base != nil && a.base.isBase() &&
			a.base.pending() {
			if j := c.splitTask(a, uint32(t)); j != nil {
				c.queue.add(j)
				return []*job{j}
			}
		}
	}
	return c.findJobs(id)
}

func (c *Cluster) mayChange(user string, j *job) bool {
	return user == "" || c.users[user].Admin || j.view().UserName == user
}

// Hold holds pending jobs. Errors are *Refusal.
func (c *Cluster) Hold(id string) error { return c.setHold(id, true) }

// Release releases held jobs. Errors are *Refusal.
func (c *Cluster) Release(id string) error { return c.setHold(id, false) }

// setHold also counts the update RPC that scontrol sends.
func (c *Cluster) setHold(id string, hold bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rpcs.count("POST /slurm/job/{}", "root")
	if r := c.setJobHold(id, "", hold); r != nil {
		return r
	}
	return nil
}

func (c *Cluster) setJobHold(id, user string, hold bool) *Refusal {
	jobs := c.jobsToChange(id)
	if len(jobs) == 0 {
		return newRefusal(2017)
	}
	for _, j := range jobs {
		if !c.mayChange(user, j) {
			return newRefusal(2010)
		}
		if !j.pending() || j.view().Hold == hold {
			continue
		}
		r := c.edit(j)
		r.Hold = hold
		if hold {
			r.Priority, r.Reason, r.ReasonText = slurm.Num(0), "JobHeldUser", ""
			if user == "" || c.users[user].Admin {
				r.Reason = "JobHeldAdmin"
			}
			continue
		}
		r.Priority, r.Reason = slurm.Num(uint64(c.priorityOf(specOf(r)))), "None"
		r.EligibleTime, r.AccrueTime = c.now, c.now
		c.queue.sorted = false
		c.queue.add(j)
		c.needsScheduling = true
	}
	return nil
}

// specOf returns the part of a job that priorityOf needs.
func specOf(r *jobRecord) JobSpec { return JobSpec{JobRequest: slurm.JobRequest{QOS: r.QOS}} }

// Requeue stops a job and returns it to the queue. Errors are *Refusal.
func (c *Cluster) Requeue(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.requeue(id, "", "None"); r != nil {
		return r
	}
	return nil
}

func (c *Cluster) requeue(id, user, reason string) *Refusal {
	jobs := c.findJobs(id)
	if len(jobs) == 0 {
		return newRefusal(2017)
	}
	for _, j := range jobs {
		switch {
		case !c.mayChange(user, j):
			return newRefusal(2010)
		case j.pending():
			if len(jobs) == 1 {
				return newRefusal(2021)
			}
		case !j.view().Requeue:
			return newRefusal(2029)
		default:
			c.returnToQueue(j, reason)
		}
	}
	return nil
}

// returnToQueue makes a running or finished job pending again.
func (c *Cluster) returnToQueue(j *job, reason string) {
	held := len(j.allocations) > 0
	if held && !j.view().State.Has(slurm.JobCompleting) {
		c.releaseLimits(j)
	}
	c.releaseAllocations(j)
	r := c.edit(j)
	r.State = slurm.JobState{Base: slurm.JobPending}
	r.Reason, r.ReasonText, r.exit = reason, "", exitCode{}
	r.Restarts++
	r.Nodes, r.BatchHost, r.TRESAllocated, r.licensesAllocated = "", "", "", ""
	r.allocations, r.gres = nil, nil
	r.StartTime, r.EndTime, r.EligibleTime = 0, 0, c.now
	j.due, j.endTime = slurm.Never, slurm.Never
	if reason == "BeginTime" {
		j.beginTime = c.now + 120
		r.StartTime, r.EligibleTime = j.beginTime, j.beginTime
		c.events.add(j.beginTime, event{})
	}
	c.queue.sorted = false
	c.queue.add(j)
	c.needsScheduling = true
}

// Suspend suspends a running job. Errors are *Refusal.
func (c *Cluster) Suspend(id string) error { return c.suspend(id, true) }

// Unsuspend resumes a suspended job. Errors are *Refusal.
func (c *Cluster) Unsuspend(id string) error { return c.suspend(id, false) }

func (c *Cluster) suspend(id string, stop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	jobs := c.findJobs(id)
	if len(jobs) == 0 {
		return newRefusal(2017)
	}
	for _, j := range jobs {
		switch {
		case stop && j.state() == slurm.JobRunning:
			r := c.edit(j)
			r.State.Base, r.SuspendTime = slurm.JobSuspended, c.now
			r.preSuspended += c.now - max(r.StartTime, lastResume(r))
			j.due = slurm.Never
		case !stop && j.state() == slurm.JobSuspended:
			r := c.edit(j)
			r.EndTime += c.now - r.SuspendTime
			r.State.Base, r.SuspendTime = slurm.JobRunning, c.now
			c.scheduleEnd(j)
		}
	}
	return nil
}

// lastResume returns when the job was last resumed; 0 if it was never suspended.
func lastResume(r *jobRecord) slurm.Time {
	if r.preSuspended == 0 {
		return 0
	}
	return r.SuspendTime
}
