package slurmctld

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Populate adds about the given numbers of nodes and job records; the same seed adds the same ones. The nodes are
// cn00001 and following; half of them have four GPUs. Three in ten jobs run, one in ten is finished, and the others are
// pending for various reasons; a few are arrays. Populate replaces the partitions "cpu" (the default) and "gpu".
func (c *Cluster) Populate(nodes, jobs int, seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.populateNodes(nodes)
	p := &population{c: c, jobs: jobs, rnd: rand.New(rand.NewPCG(seed, 1)), users: c.ordinaryUsers(),
		partitions: []string{"cpu"}}
	for _, partition := range c.partitions {
		if partition.conf.Feature == "cpu" && partition.name() != "cpu" {
			p.partitions = append(p.partitions, partition.name())
		}
	}
	for i := range jobs {
		p.addJob(i)
	}
	c.countStates()
}

func (c *Cluster) populateNodes(count int) {
	kept := c.partitions[:0:0]
	for _, p := range c.partitions {
		if p.name() != "cpu" && p.name() != "gpu" {
			p.conf.Default = false
			p.Edit(c.generation).Default = false
			kept = append(kept, p)
		}
	}
	kept = append(kept,
		newPartition(PartitionConf{Name: "cpu", Default: true, Feature: "cpu"}),
		newPartition(PartitionConf{Name: "gpu", Feature: "h100", MaxMinutes: 1440}))
	c.partitions = kept
	half := count / 2
	shape := NodeConf{Sockets: 2, CoresPerSocket: 8, MemoryMiB: 64000}
	plain, gpu := shape, shape
	plain.Names, plain.Features = fmt.Sprintf("cn[%05d-%05d]", 1, count-half), []string{"cpu", "x86"}
	gpu.Names, gpu.Features = fmt.Sprintf("cn[%05d-%05d]", count-half+1, count), []string{"x86", "h100"}
	gpu.GRES = "gpu:h100:4"
	c.addNodes(plain)
	if half > 0 {
		c.addNodes(gpu)
	}
}

// ordinaryUsers returns the users who are not administrators.
func (c *Cluster) ordinaryUsers() []UserConf {
	var users []UserConf
	for _, u := range c.cfg.Users {
		if !u.Admin {
			users = append(users, u)
		}
	}
	return users
}

// population creates jobs of many shapes.
type population struct {
	c          *Cluster
	jobs       int
	rnd        *rand.Rand
	users      []UserConf
	partitions []string       // partitions of nodes without GPUs
	nextNode   map[string]int // where the next search for a node of a partition starts
}

func (p *population) addJob(i int) {
	s := p.newSpec(i)
	partitions, ok := p.c.partitionsOf(s.Partition)
	if !ok {
		return
	}
	j := p.c.newJob(s, partitions)
	p.c.enqueueJob(j)
	r := p.c.edit(j)
	r.SubmitTime -= slurm.Time(4 * 86400 * (p.jobs - i) / p.jobs) // submit times follow the order of the ids
	r.EligibleTime, r.AccrueTime = r.SubmitTime, r.SubmitTime+slurm.Time(p.rnd.IntN(60))
	switch k := p.rnd.IntN(100); {
	case k < 30:
		p.startJob(j)
	case k < 40:
		if p.startJob(j) {
			p.finishJob(j)
		}
	default:
		p.keepPending(j, k)
	}
}

func (p *population) newSpec(i int) JobSpec {
	user := p.users[p.rnd.IntN(len(p.users))]
	s := JobSpec{User: user.Name, RunFor: time.Duration(600+p.rnd.IntN(80000)) * time.Second}
	s.Name, s.QOS = fmt.Sprintf("job-%d", p.rnd.IntN(5000)), p.c.cfg.QOS[p.rnd.IntN(len(p.c.cfg.QOS))].Name
	s.Priority = uint32(1 + p.rnd.IntN(4_000_000))
	s.Tasks, s.MemoryPerCPU = uint32(1+p.rnd.IntN(4)), slurm.Num(uint64(500+100*p.rnd.IntN(30)))
	s.Script = "#!/bin/sh\nsrun ./work\n"
	s.WorkingDirectory = fmt.Sprintf("/home/%s/project-%d/run-%d", s.User, p.rnd.IntN(50), i)
	s.Partition = p.partitions[p.rnd.IntN(len(p.partitions))]
	switch p.rnd.IntN(8) {
	case 0, 1:
		s.Partition, s.TRESPerNode = "gpu", "gres/gpu:h100:1"
	case 2:
		s.Partition = "cpu,gpu"
	}
	if p.rnd.IntN(3) == 0 {
		s.TimeLimit = slurm.Num(uint64(30 * (1 + p.rnd.IntN(40))))
	}
	if p.rnd.IntN(3) == 0 {
		s.Comment = fmt.Sprintf("experiment %d", p.rnd.IntN(1000))
	}
	return s
}

// startJob starts the job on one node with room. The search continues where the last one in this
// partition stopped.
func (p *population) startJob(j *job) bool {
	partition := j.requirements.partitions[0]
	if p.nextNode == nil {
		p.nextNode = map[string]int{}
	}
	for range partition.nodes {
		n := partition.nodes[p.nextNode[partition.name()]%len(partition.nodes)]
		if allocations := j.requirements.fit([]*node{n}, asOccupied); allocations != nil && n.usable() {
			p.c.startJob(j, partition, allocations)
			return true
		}
		p.nextNode[partition.name()]++
		if p.nextNode[partition.name()] >= 2*len(partition.nodes) {
			return false
		}
	}
	return false
}

func (p *population) finishJob(j *job) {
	states := []slurm.JobBase{slurm.JobCompleted, slurm.JobCompleted, slurm.JobFailed, slurm.JobCancelled}
	p.c.endJob(j, states[p.rnd.IntN(len(states))], "None", ExitCode{})
	p.c.finishCompleting(j)
}

// keepPending gives a pending job one of the reasons for waiting.
func (p *population) keepPending(j *job, k int) {
	c := p.c
	if k >= 99 {
		c.makeArray(j, taskRange(0, uint32(10+p.rnd.IntN(200))), 5)
	}
	r := c.edit(j)
	r.LastSchedEval = c.now
	switch {
	case k < 45:
		r.Hold, r.Priority, r.Reason = true, slurm.Num(0), "JobHeldUser"
	case k < 50:
		j.beginTime = c.now + slurm.Time(3600+p.rnd.IntN(36000))
		r.EligibleTime, r.StartTime, r.Reason = j.beginTime, j.beginTime, "BeginTime"
	case k < 55:
		r.Reason = "Resources"
	case k < 60:
		r.Reason = "QOSMaxJobsPerUserLimit"
	case k < 65:
		r.Reason = "AssocGrpCpuLimit"
	case k < 70:
		r.Reason = "ReqNodeNotAvail"
	default:
		r.Reason = "Priority"
	}
	c.queue.add(j)
}

func taskRange(from, to uint32) []uint32 {
	list := make([]uint32, 0, to-from+1)
	for i := from; i <= to; i++ {
		list = append(list, i)
	}
	return list
}
