package slurmctld

import (
	"math/bits"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

// yearSeconds is how long Slurm expects a job without a time limit to run.
const yearSeconds = 365 * 24 * 3600

// startJob allocates nodes to the job and runs it.
func (c *Cluster) startJob(j *job, p *partition, allocations []*NodeAllocation) {
	j.allocations = allocations
	for _, g := range allocations {
		g.allocate(j)
	}
	c.takeLicenses(j.requirements.licenses)
	c.stats.Started++
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
		func(g *NodeAllocation) bool { return g.node.flags&slurm.NodePoweredDown != 0 }) {
		r.State.Flags = slurm.JobConfiguring | slurm.JobPowerUpNode
	}
	r.Reason, r.ReasonText, r.Partition = "None", "", p.name()
	r.StartTime, r.LastSchedEval = c.now, c.now
	r.EndTime = c.now + yearSeconds
	if m, ok := j.requirements.minutes.Value(); ok {
		r.EndTime = c.now + slurm.Time(60*m)
	}
	r.EligibleTime, r.AccrueTime = timeOrNow(r.EligibleTime, c.now), timeOrNow(r.AccrueTime, c.now)
	r.Allocations = j.allocations
	r.LicensesAllocated = r.Licenses
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
func (c *Cluster) writeAllocation(j *job, r *JobRecord) {
	names := make([]string, 0, len(j.allocations))
	t := format.TRES{Nodes: uint64(len(j.allocations))}
	gres := map[string]uint64{}
	r.GRES = nil
	for _, g := range j.allocations {
		names = append(names, g.Name)
		t.CPUs += uint64(g.CPUs)
		t.Memory += g.Memory
		if g.gpus != 0 {
			count := uint64(bits.OnesCount64(g.gpus))
			t.GPUs += count
			gres["gpu"] += count
			if g.node.gpuType != "" {
				gres["gpu:"+g.node.gpuType] += count
			}
			r.GRES = append(r.GRES, formatGPUs(g.node.gpuType, g.gpus))
		}
	}
	r.GRESAllocated = slurm.FormatGRES(gres)
	t.Billing = t.CPUs
	r.Nodes, r.BatchHost = hostlist.Compress(names), names[0]
	r.NodeCount, r.MaxNodes = slurm.Num(uint64(len(names))), slurm.Num(0)
	r.CPUs = slurm.Num(t.CPUs)
	r.TRESAllocated = t.String()
}

// scheduleEnd sets when the job ends.
func (c *Cluster) scheduleEnd(j *job) {
	v := j.View()
	j.endTime = v.StartTime + j.runFor - slurm.Time(v.PreSuspendSeconds)
	if j.result.forever {
		j.endTime = slurm.Never
	}
	if v.PreSuspendSeconds > 0 {
		j.endTime = c.now + j.runFor - slurm.Time(v.PreSuspendSeconds)
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
	v := j.View()
	return v.QOS + "/" + v.UserName
}

func (u runningCounts) add(j *job, n int32) {
	key := runningKey(j)
	u[key] = uint32(int32(u[key]) + n)
}
