package slurmtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NewSized returns a cluster of release 26.05 with that many nodes and job records in every state
// (see Populate). It is the same each time: 300 users in 40 accounts, eight partitions and four
// QOS.
func NewSized(now func() time.Time, nodes, jobs int) *Cluster {
	users := defaultUsers()[:2]
	for i := range 300 {
		users = append(users, UserConf{Name: fmt.Sprintf("user%03d", i), UID: uint32(3000 + i),
			Account: fmt.Sprintf("project%02d", i%40), Shares: uint32(1 + i%7)})
	}
	var partitions []PartitionConf
	for i, name := range []string{"short", "long", "night", "test", "teaching"} {
		partitions = append(partitions, PartitionConf{Name: name, Feature: "cpu", PriorityTier: uint32(1 + i)})
	}
	c := New(Config{
		Now: now, Licenses: []LicenseConf{{Name: "matlab", Total: 100}}, Users: users,
		Partitions: append(partitions, PartitionConf{Name: "all"}),
		QOS: []QOSConf{{Name: "normal"}, {Name: "high", Priority: 1000}, {Name: "low"},
			{Name: "debug", Priority: 10}},
	})
	c.Populate(nodes, jobs, 1)
	return c
}

// NewDemo returns a busy cluster for demonstrations: CPU and GPU partitions, users of several
// accounts, QOS, arrays, held and dependent jobs, a reservation, a drained node and a node that is
// down. Run keeps it busy.
func NewDemo(now func() time.Time) *Cluster {
	c := New(demoConfig(now))
	c.workload = &workload{rnd: rand.New(rand.NewPCG(7, 7))}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setReservation(slurm.ReservationRequest{Name: "course", Nodes: []string{"cpu-[23-24]"},
		Accounts: []string{"teaching"}})
	c.setReservation(slurm.ReservationRequest{Name: "maintenance", Nodes: []string{"gpu-08"}, Users: []string{"root"},
		StartTime: c.now + 6*3600, Duration: slurm.Num(240), Flags: []string{"MAINT"}})
	_ = c.setNodeState(c.nodeByName["cpu-21"], "DRAIN", "memory errors", "root")
	_ = c.setNodeState(c.nodeByName["cpu-22"], "DOWN", "Not responding", "slurm")
	for range 150 {
		c.workload.submitJob(c)
	}
	c.runDueEvents()
	c.workload.setNodeLoads(c)
	return c
}

func demoConfig(now func() time.Time) Config {
	return Config{
		Now: now, ClusterName: "demo",
		Nodes: []NodeConf{
			{Names: "cpu-[01-24]", Sockets: 2, CoresPerSocket: 16, MemoryMiB: 128000, Features: []string{"cpu", "x86"}},
			{Names: "gpu-[01-08]", Sockets: 2, CoresPerSocket: 32, MemoryMiB: 512000, GRES: "gpu:h100:4",
				Features: []string{"gpu", "h100"}},
		},
		Partitions: []PartitionConf{
			{Name: "cpu", Default: true, Feature: "cpu", MaxMinutes: 2880, DefaultMinutes: 60},
			{Name: "gpu", Feature: "gpu", MaxMinutes: 1440, DefaultMinutes: 60},
			{Name: "debug", Nodes: "cpu-[01-02]", MaxMinutes: 30, MaxNodes: 1, PriorityTier: 10},
		},
		Licenses: []LicenseConf{{"matlab", 12}, {"ansys", 4}},
		Users: []UserConf{
			{Name: "root", Account: "root", Shares: 1, Admin: true},
			{Name: "slurm", UID: 64030, Account: "root", Shares: 1, Admin: true},
			{Name: "alice", UID: 3001, Account: "ml", Shares: 5}, {Name: "dora", UID: 3004, Account: "ml", Shares: 2},
			{Name: "bob", UID: 3002, Account: "hpc", Shares: 3}, {Name: "erik", UID: 3005, Account: "hpc", Shares: 1},
			{Name: "carol", UID: 3003, Account: "teaching", Shares: 1},
		},
		QOS: []QOSConf{{Name: "normal"}, {Name: "high", Priority: 1000, MaxJobsPerUser: 20},
			{Name: "low", Priority: 0}},
	}
}

// Run makes the model's time follow the clock, second by second, until the context ends. A cluster
// of NewDemo gets new jobs all the time.
func (c *Cluster) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.CatchUp()
		}
	}
}

// CatchUp moves the model to the clock's time. In a cluster of NewDemo, users submit and cancel
// jobs in the meantime, unless the clock is more than ten minutes ahead.
func (c *Cluster) CatchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := slurm.At(c.cfg.Now())
	if c.workload == nil || to-c.now > 600 {
		c.advanceTo(to)
		return
	}
	for c.now < to {
		c.workload.runSecond(c)
		c.advanceTo(c.now + 1)
	}
}

// workload creates the jobs of a demo cluster.
type workload struct{ rnd *rand.Rand }

// runSecond does what users do within a second.
func (l *workload) runSecond(c *Cluster) {
	if l.rnd.IntN(10) == 0 && len(c.queue.jobs) < 400 {
		l.submitJob(c)
	}
	if l.rnd.IntN(300) == 0 {
		l.releaseOldestHeld(c)
	}
	if l.rnd.IntN(120) == 0 && len(c.jobs) > 0 {
		j := c.jobs[l.rnd.IntN(len(c.jobs))]
		_ = c.cancel(fmt.Sprint(j.id), "")
	}
	if c.now%30 == 0 {
		l.setNodeLoads(c)
	}
}

// releaseOldestHeld releases the job that has been held longest.
func (l *workload) releaseOldestHeld(c *Cluster) {
	for _, j := range c.jobs {
		if j.pending() && j.view().Hold {
			_ = c.setJobHold(fmt.Sprint(j.id), "", false)
			return
		}
	}
}

// setNodeLoads sets the nodes' load and free memory from what their jobs use.
func (l *workload) setNodeLoads(c *Cluster) {
	for _, n := range c.nodes {
		if n.usable() {
			r := n.edit(c.generation)
			r.Load = slurm.Flt(float64(n.usedCPUs) * (0.8 + 0.3*l.rnd.Float64()))
			r.FreeMemoryMiB = slurm.Num(n.memory - n.usedMemory/2 - n.memory/20)
			c.changedAt.nodes = c.now
		}
	}
}

func (l *workload) submitJob(c *Cluster) {
	users := []string{"alice", "alice", "bob", "bob", "carol", "dora", "erik"}
	s := JobSpec{User: users[l.rnd.IntN(len(users))], RunFor: time.Duration(20+l.rnd.IntN(900)) * time.Second}
	s.Name = []string{"train", "simulate", "evaluate", "analysis", "render"}[l.rnd.IntN(5)]
	s.Script, s.Tasks = "#!/bin/sh\nsrun ./"+s.Name+"\n", uint32(1+l.rnd.IntN(32))
	s.MemoryPerCPU = slurm.Num(uint64(1000 + 500*l.rnd.IntN(5)))
	s.TimeLimit = slurm.Num(uint64(10 + 10*l.rnd.IntN(6)))
	if l.rnd.IntN(20) == 0 {
		s.ExitCode = 1
	}
	l.varySpec(c, &s)
	_, _ = c.submit(s)
}

// varySpec makes some jobs special.
func (l *workload) varySpec(c *Cluster, s *JobSpec) {
	switch k := l.rnd.IntN(40); {
	case k < 8:
		s.Partition, s.TRESPerNode, s.Tasks = "gpu", fmt.Sprintf("gres/gpu:h100:%d", 1+l.rnd.IntN(4)), 8
	case k < 10:
		s.Partition, s.Tasks, s.TimeLimit = "debug", 2, slurm.Num(10)
	case k < 14:
		s.Array, s.Tasks = fmt.Sprintf("0-%d%%%d", 4+l.rnd.IntN(20), 2+l.rnd.IntN(4)), 2
	case k < 16:
		s.Licenses = []string{"matlab:2", "ansys:1"}[l.rnd.IntN(2)]
	case k < 18:
		s.Nodes, s.Tasks = 4, 64
	case k < 21:
		s.QOS = []string{"high", "low"}[l.rnd.IntN(2)]
	case k == 21:
		s.Hold = true
	case k == 22 && c.lastJobID > 0:
		s.Dependency = fmt.Sprintf("afterany:%d", c.lastJobID)
	case k == 23:
		s.BeginTime = c.now + 1800
	case k == 24:
		s.User, s.Reservation = "carol", "course"
	}
}
