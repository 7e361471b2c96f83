package slurmctld

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Times are when the records of each kind last changed, when the scheduler last ran, and the model's
// time.
type Times struct {
	Nodes, Jobs, Partitions, Reservations slurm.Time
	LastSchedule, Now                     slurm.Time
}

// ReadTimes returns when the records last changed.
func (c *Cluster) ReadTimes() Times {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times()
}

func (c *Cluster) times() Times {
	t := c.changedAt
	t.LastSchedule, t.Now = c.stats.LastCycle, c.now
	return t
}

// ReadJobs returns the records of all jobs in slurmctld's order. Later changes do not reach them.
func (c *Cluster) ReadJobs() ([]*JobRecord, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobRecords(c.jobs), c.times()
}

// ReadJob returns the records that an id such as "7" or "7_3" stands for. The id of an array or of a
// heterogeneous job stands for all its records.
func (c *Cluster) ReadJob(id string) ([]*JobRecord, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobRecords(c.findJobs(id)), c.times()
}

func (c *Cluster) jobRecords(jobs []*job) []*JobRecord {
	c.freezeRecords()
	list := make([]*JobRecord, len(jobs))
	for i, j := range jobs {
		list[i] = j.View()
	}
	return list
}

// JobStateRow is the state of a job, or of one task of an array.
type JobStateRow struct {
	// Job is the id of the job's record; tasks without their own record have the array's.
	Job uint32
	// ArrayJob and Task identify a task of an array.
	ArrayJob uint32
	Task     slurm.Number
	// HetOffset is the number of a component of a heterogeneous job.
	HetOffset slurm.Number
	State     slurm.JobState
}

// ReadJobStates returns the states of all jobs or, if ids are given, of the jobs that these stand
// for. Tasks without their own record are listed one by one.
func (c *Cluster) ReadJobStates(ids []string) []JobStateRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.jobs
	if len(ids) > 0 {
		list = nil
		for _, id := range ids {
			list = append(list, c.findJobs(id)...)
		}
	}
	rows := make([]JobStateRow, 0, len(list))
	for _, j := range list {
		v := j.View()
		if j.isBase() {
			for _, t := range j.array.tasks {
				rows = append(rows, JobStateRow{Job: j.array.id, ArrayJob: j.array.id, Task: slurm.Num(uint64(t)),
					State: v.State})
			}
			continue
		}
		row := JobStateRow{Job: j.id, ArrayJob: v.ArrayJobID, Task: v.ArrayTaskID, State: v.State}
		if v.HetJobID != 0 {
			row.HetOffset = slurm.Num(uint64(v.HetOffset))
		}
		rows = append(rows, row)
	}
	return rows
}

// findJobs resolves an id as ReadJob does. The caller must hold the lock.
func (c *Cluster) findJobs(text string) []*job {
	number, task, isTask := strings.Cut(text, "_")
	id64, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil
	}
	id := uint32(id64)
	a := c.arrays[id]
	if isTask {
		n, err := strconv.ParseUint(task, 10, 32)
		if a == nil || err != nil {
			return nil
		}
		if j := a.taskRecord(uint32(n)); j != nil {
			return []*job{j}
		}
		return nil
	}
	if a != nil {
		return a.members()
	}
	j := c.jobByID[id]
	switch {
	case j == nil:
		return nil
	case j.het != nil && j.het.leader() == j:
		return slices.DeleteFunc(slices.Clone(j.het.jobs), func(x *job) bool { return x.purged })
	}
	return []*job{j}
}

// ReadNodes returns the records of the nodes, of FUTURE nodes only on request. Later changes do not
// reach them.
func (c *Cluster) ReadNodes(future bool) ([]*slurm.Node, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freezeRecords()
	list := make([]*slurm.Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if future || n.base != slurm.NodeFuture {
			list = append(list, n.View())
		}
	}
	return list, c.times()
}

// ReadPartitions returns the record of the named partition, or of all for "". Later changes do not
// reach them.
func (c *Cluster) ReadPartitions(name string) ([]*slurm.Partition, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freezeRecords()
	var list []*slurm.Partition
	for _, p := range c.partitions {
		if name == "" || p.name() == name {
			list = append(list, p.View())
		}
	}
	return list, c.times()
}

// ReadReservations returns the record of the named reservation, or of all for "". Later changes do
// not reach them.
func (c *Cluster) ReadReservations(name string) ([]*slurm.Reservation, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freezeRecords()
	var list []*slurm.Reservation
	for _, r := range c.reservations {
		if name == "" || r.View().Name == name {
			list = append(list, r.View())
		}
	}
	return list, c.times()
}

// ReadLicenses returns the local licenses.
func (c *Cluster) ReadLicenses() ([]slurm.License, Times) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []slurm.License
	for _, l := range c.licenses {
		list = append(list, slurm.License{Name: l.Name, Total: l.Total, Used: l.used,
			Free: l.Total - min(l.Total, l.used), Reserved: l.reserved})
	}
	return list, c.times()
}
