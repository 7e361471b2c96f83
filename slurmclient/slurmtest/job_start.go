package slurmtest

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// yearSeconds is how long Slurm expects a job without a time limit to run.
const yearSeconds = 365 * 24 * 3600

// startJob allocates nodes to the job and runs it.
func (c *Cluster) startJob(j *job, p *partition, allocations []*nodeAllocation) {
	j.allocations = allocations
	for _, g := range allocations {
		g.allocate(j)
	}
	c.takeLicenses(j.requirements.licenses)
	c.stats.started++
	if a := j.array; a != nil {
		a.running++
	}
	c.running.add(j, 1)
	c.writeStart(j, p)
	for _, g := range allocations {
		c.updateNodeRecord(g.node)
	}
	c.scheduleEnd(j)
}

func (c *Cluster) writeStart(j *job, p *partition) {
	r := c.edit(j)
	r.State = slurm.JobState{Base: slurm.JobRunning}
	if slices.ContainsFunc(j.allocations,
		func(g *nodeAllocation) bool { return g.node.flags&slurm.NodePoweredDown != 0 }) {
		r.State.Flags = slurm.JobConfiguring | slurm.JobPowerUpNode
	}
	r.Reason, r.ReasonText, r.Partition = "None", "", p.name()
	r.StartTime, r.LastSchedEval = c.now, c.now
	r.EndTime = c.now + yearSeconds
	if m, ok := j.requirements.minutes.Value(); ok {
		r.EndTime = c.now + slurm.Time(60*m)
	}
	r.EligibleTime, r.AccrueTime = timeOrNow(r.EligibleTime, c.now), timeOrNow(r.AccrueTime, c.now)
	r.allocations = j.allocations
	r.licensesAllocated = r.Licenses
	r.ScheduledNodes = ""
	c.writeAllocation(j, r)
	r.flags = (r.flags | flagWasRunning) &^ (flagBackfill | flagScheduling | flagDependent)
	r.Flags = c.flagText(r.flags)
}

func timeOrNow(t, now slurm.Time) slurm.Time {
	if t == 0 || t > now {
		return now
	}
	return t
}

// writeAllocation writes the allocated resources into the record.
func (c *Cluster) writeAllocation(j *job, r *jobRecord) {
	names := make([]string, 0, len(j.allocations))
	t := tresCounts{nodes: uint64(len(j.allocations))}
	r.gres = nil
	for _, g := range j.allocations {
		names = append(names, g.name)
		t.cpus += uint64(g.cpus)
		t.memory += g.memory
		if g.gpus != 0 {
			t.gpus += uint64(bits.OnesCount64(g.gpus))
			r.gres = append(r.gres, formatGPUs(g.node.gpuType, g.gpus))
		}
	}
	t.billing = t.cpus
	r.Nodes, r.BatchHost = hostlist.Compress(names), names[0]
	r.NodeCount, r.MaxNodes = slurm.Num(uint64(len(names))), slurm.Num(0)
	r.CPUs = slurm.Num(t.cpus)
	r.TRESAllocated = t.String()
}

// scheduleEnd sets when the job ends.
func (c *Cluster) scheduleEnd(j *job) {
	v := j.view()
	j.endTime = v.StartTime + j.runFor - v.preSuspended
	if j.result.forever {
		j.endTime = slurm.Never
	}
	if v.preSuspended > 0 {
		j.endTime = c.now + j.runFor - v.preSuspended
	}
	if _, ok := j.requirements.minutes.Value(); ok {
		j.endTime = min(j.endTime, v.EndTime)
	}
	c.setDue(j, j.endTime)
}

// setDue sets when the next event of the job is due.
func (c *Cluster) setDue(j *job, at slurm.Time) {
	j.due = at
	if at != slurm.Never {
		c.events.add(at, event{job: j})
	}
}

// runningCounts counts running jobs by QOS and user.
type runningCounts map[string]uint32

func runningKey(j *job) string {
	v := j.view()
	return v.QOS + "/" + v.UserName
}

func (u runningCounts) add(j *job, n int32) {
	key := runningKey(j)
	u[key] = uint32(int32(u[key]) + n)
}

// assocID returns the id of the user's association: accounts come first, then users in the order of
// the configuration.
func (c *Cluster) assocID(user string) uint32 {
	if c.cfg.NoAccounting {
		return 0
	}
	i := slices.IndexFunc(c.cfg.Users, func(u UserConf) bool { return u.Name == user })
	return uint32(2 + len(c.accounts()) + i)
}

// accounts returns the names of all accounts, root first.
func (c *Cluster) accounts() []string {
	list := []string{"root"}
	for _, u := range c.cfg.Users {
		if u.Account != "" && !slices.Contains(list, u.Account) {
			list = append(list, u.Account)
		}
	}
	slices.SortStableFunc(list[1:], strings.Compare)
	return list
}
