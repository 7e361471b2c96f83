package slurmtest

import (
	"context"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmrestd"
)

// Cluster is a simulated Slurm cluster: slurmctld and its slurmrestd. Its methods and its Handler are
// safe for concurrent use.
type Cluster struct {
	*slurmctld.Cluster
	*slurmrestd.Server
	// workload submits and changes jobs in a demo cluster; nil for others.
	workload *workload
}

// New returns a cluster at the time of cfg.Now. Its nodes are up unless their NodeConf.State says
// otherwise.
func New(cfg Config) *Cluster {
	c := slurmctld.New(cfg)
	return &Cluster{Cluster: c, Server: slurmrestd.New(c)}
}

// NewSized returns a cluster of release 26.05 with that many nodes and job records in every state
// (see Populate). It is the same each time: 300 users in 40 accounts, eight partitions and four
// QOS.
func NewSized(now func() time.Time, nodes, jobs int) *Cluster {
	users := slurmctld.DefaultUsers()[:2]
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

// Hold holds pending jobs as scontrol does. Errors are *Refusal.
func (c *Cluster) Hold(id string) error {
	c.CountRPC("POST /slurm/job/{}", "root")
	return c.Cluster.Hold(id)
}

// Release releases held jobs as scontrol does. Errors are *Refusal.
func (c *Cluster) Release(id string) error {
	c.CountRPC("POST /slurm/job/{}", "root")
	return c.Cluster.Release(id)
}

// Restart restarts slurmctld: its counters start again at zero, and every record counts as changed.
func (c *Cluster) Restart() {
	c.ResetRPCs()
	c.Cluster.Restart()
}

// ColdStart restarts slurmctld without its saved state (slurmctld -c): jobs and reservations are
// gone and job ids start at 1.
func (c *Cluster) ColdStart() {
	c.ResetRPCs()
	c.Cluster.ColdStart()
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
	late := c.Config().Now().Sub(c.Now()).Truncate(time.Second)
	if c.workload == nil || late > 10*time.Minute {
		c.Step(max(0, late))
		return
	}
	for ; late > 0; late -= time.Second {
		c.workload.runSecond(c)
		c.Step(time.Second)
	}
}
