package slurmctld

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Cancel cancels a job, an array, or one task ("7_3"). Errors are *Refusal.
func (c *Cluster) Cancel(id string) error { return c.CancelAs("", id).orNil() }

// CancelAs cancels as a user; "" is an administrator. It returns nil on success.
func (c *Cluster) CancelAs(user, id string) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancel(id, user)
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
		exit := ExitCode{}
		if s != slurm.JobPending {
			exit.Signal = 15
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
	return user == "" || c.users[user].Admin || j.View().UserName == user
}

// Hold holds pending jobs. Errors are *Refusal.
func (c *Cluster) Hold(id string) error { return c.setHold(id, true) }

// Release releases held jobs. Errors are *Refusal.
func (c *Cluster) Release(id string) error { return c.setHold(id, false) }

func (c *Cluster) setHold(id string, hold bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setJobHold(id, "", hold).orNil()
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
		if !j.pending() || j.View().Hold == hold {
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
func specOf(r *JobRecord) JobSpec { return JobSpec{JobRequest: slurm.JobRequest{QOS: r.QOS}} }

// Requeue stops a job and returns it to the queue. Errors are *Refusal.
func (c *Cluster) Requeue(id string) error { return c.RequeueAs("", id).orNil() }

// RequeueAs requeues as a user; "" is an administrator. It returns nil on success.
func (c *Cluster) RequeueAs(user, id string) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requeue(id, user, "None")
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
		case !j.View().Requeue:
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
	if held && !j.View().State.Has(slurm.JobCompleting) {
		c.releaseLimits(j)
	}
	c.releaseAllocations(j)
	r := c.edit(j)
	r.State = slurm.JobState{Base: slurm.JobPending}
	r.Reason, r.ReasonText, r.Exit = reason, "", ExitCode{}
	r.Restarts++
	r.Nodes, r.BatchHost, r.TRESAllocated, r.LicensesAllocated = "", "", "", ""
	r.Allocations, r.GRES, r.GRESAllocated = nil, nil, ""
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
			r.PreSuspendSeconds += uint32(c.now - max(r.StartTime, lastResume(r)))
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
func lastResume(r *JobRecord) slurm.Time {
	if r.PreSuspendSeconds == 0 {
		return 0
	}
	return r.SuspendTime
}

// JobUpdate is a change of jobs; nil and absent members change nothing.
type JobUpdate struct {
	Hold                *bool
	Comment             *string
	Nice                *int32
	Priority, TimeLimit slurm.Number
}

// UpdateJobAs changes every record that the id stands for, as a user. It returns nil on success.
func (c *Cluster) UpdateJobAs(user, id string, u JobUpdate) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.Hold != nil {
		if r := c.setJobHold(id, user, *u.Hold); r != nil {
			return r
		}
	}
	jobs := c.jobsToChange(id)
	if len(jobs) == 0 {
		return newRefusal(2017)
	}
	for _, j := range jobs {
		if !c.mayChange(user, j) {
			return newRefusal(2010)
		}
		if j.state().Finished() {
			return newRefusal(2021)
		}
		c.updateJob(j, u)
	}
	return nil
}

func (c *Cluster) updateJob(j *job, u JobUpdate) {
	r := c.edit(j)
	if u.Comment != nil {
		r.Comment = *u.Comment
	}
	if u.Nice != nil {
		r.Nice = *u.Nice
	}
	if v, ok := u.Priority.Value(); ok {
		r.Priority = slurm.Num(v)
		c.queue.sorted = false
	}
	if !u.TimeLimit.IsAbsent() {
		r.TimeLimit, j.requirements.minutes = u.TimeLimit, u.TimeLimit
	}
	c.needsScheduling = true
}
