package slurmtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NewDemo returns a busy cluster for demonstrations: CPU and GPU partitions, users of several
// accounts, QOS, arrays, held and dependent jobs, a reservation, a drained node and a node that is
// down. Run keeps it busy.
func NewDemo(now func() time.Time) *Cluster {
	c := New(demoConfig(now))
	c.workload = &workload{rnd: rand.New(rand.NewPCG(7, 7))}
	c.SetReservation(slurm.ReservationRequest{Name: "course", Nodes: []string{"cpu-[23-24]"},
		Accounts: []string{"teaching"}})
	c.SetReservation(slurm.ReservationRequest{Name: "maintenance", Nodes: []string{"gpu-08"}, Users: []string{"root"},
		StartTime: slurm.At(c.Now()) + 6*3600, Duration: slurm.Num(240), Flags: []string{"MAINT"}})
	_ = c.UpdateNode("cpu-21", "DRAIN", "memory errors")
	_ = c.UpdateNode("cpu-22", "DOWN", "Not responding")
	for range 150 {
		c.workload.submitJob(c)
	}
	c.Step(0)
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
		Licenses: []LicenseConf{{Name: "matlab", Total: 12}, {Name: "ansys", Total: 4}},
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

// workload creates the jobs of a demo cluster.
type workload struct {
	rnd       *rand.Rand
	lastJobID uint32
}

// runSecond does what users do within a second.
func (l *workload) runSecond(c *Cluster) {
	jobs := c.Jobs()
	if l.rnd.IntN(10) == 0 && countPending(jobs) < 400 {
		l.submitJob(c)
	}
	if l.rnd.IntN(300) == 0 {
		releaseOldestHeld(c, jobs)
	}
	if l.rnd.IntN(120) == 0 && len(jobs) > 0 {
		_ = c.Cancel(fmt.Sprint(jobs[l.rnd.IntN(len(jobs))].ID))
	}
	if c.Now().Unix()%30 == 0 {
		l.setNodeLoads(c)
	}
}

func countPending(jobs []slurm.Job) (n int) {
	for _, j := range jobs {
		if j.State.Base == slurm.JobPending {
			n++
		}
	}
	return n
}

// releaseOldestHeld releases the job that has been held longest.
func releaseOldestHeld(c *Cluster, jobs []slurm.Job) {
	for _, j := range jobs {
		if j.State.Base == slurm.JobPending && j.Hold {
			_ = c.Cluster.Release(fmt.Sprint(j.ID))
			return
		}
	}
}

// setNodeLoads sets the nodes' load and free memory from what their jobs use.
func (l *workload) setNodeLoads(c *Cluster) {
	const closed = slurm.NodeDrain | slurm.NodeNotResponding | slurm.NodeInvalid
	for _, n := range c.Nodes() {
		switch n.State.Base {
		case slurm.NodeIdle, slurm.NodeMixed, slurm.NodeAllocated:
			if n.State.Flags&closed == 0 {
				c.SetNodeLoad(n.Name, float64(n.AllocCPUs)*(0.8+0.3*l.rnd.Float64()),
					n.MemoryMiB-n.AllocMemoryMiB/2-n.MemoryMiB/20)
			}
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
	if id, err := c.Submit(s); err == nil {
		l.lastJobID = id
	}
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
	case k == 22 && l.lastJobID > 0:
		s.Dependency = fmt.Sprintf("afterany:%d", l.lastJobID)
	case k == 23:
		s.BeginTime = slurm.At(c.Now()) + 1800
	case k == 24:
		s.User, s.Reservation = "carol", "course"
	}
}
