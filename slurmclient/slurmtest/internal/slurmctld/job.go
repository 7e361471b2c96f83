package slurmctld

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/copyonwrite"
)

// JobRecord is a job as answers show it: the domain type and what only the JSON contains.
type JobRecord struct {
	slurm.Job
	slurm.JobOwner
	slurm.JobDetails
	GroupID           uint32
	Batch             bool // the job has its own script
	Comment           string
	Directory         string
	SubmitLine        string
	LicensesAllocated string
	FailedNode        string
	Exit              ExitCode
	GRES              []string
	flags             jobFlags
	// Allocations are the nodes of a job that runs or ran; nil while it is pending.
	Allocations []*NodeAllocation
}

// shared returns the domain type with its shared fields.
func (r *JobRecord) shared() slurm.Job {
	j, details := r.Job, r.JobDetails
	details.ExitCode, details.ExitSignal = slurm.Num(uint64(r.Exit.Code)), r.Exit.Signal
	if r.Exit.Signal != 0 {
		details.ExitCode = slurm.Unset()
	}
	j.SharedOwner, j.SharedDetails = slurm.ShareOwner(r.JobOwner), slurm.ShareDetails(details)
	return j
}

// ExitCode is how a job ended: its exit code or the signal that killed it.
type ExitCode struct {
	Code, Signal uint32
}

// jobFlags are the bits behind slurm.Job.Flags.
type jobFlags uint16

const (
	flagNoTRES jobFlags = 1 << iota
	flagExactTasks
	flagWasRunning
	flagExactMemory
	flagDefaultAccount
	flagDefaultPartition
	flagDefaultQOS
	flagDefaultWCKey
	flagDependent
	flagPartitionAssigned
	flagBackfill
	flagScheduling
	flagImplicitNodes
)

func jobFlagNames() []string {
	return []string{
		"SKIP_TRES_STRING_ACCOUNTING", "EXACT_TASK_COUNT_REQUESTED", "JOB_WAS_RUNNING",
		"EXACT_MEMORY_REQUESTED", "USING_DEFAULT_ACCOUNT", "USING_DEFAULT_PARTITION",
		"USING_DEFAULT_QOS", "USING_DEFAULT_WCKEY", "DEPENDENT", "PARTITION_ASSIGNED",
		"BACKFILL_ATTEMPTED", "SCHEDULING_ATTEMPTED", "JOB_IMPLICIT_MAX_NODES",
	}
}

// NodeAllocation is a job's allocation on one node.
type NodeAllocation struct {
	node                    *node
	Name                    string
	CPUs                    uint32
	Memory                  uint64
	gpus                    uint64
	Cores                   coreSet
	Sockets, CoresPerSocket uint32
}

// job is a job of the model. Answers show its record.
type job struct {
	copyonwrite.Record[JobRecord]
	id           uint32
	index        int // position in Cluster.jobs
	requirements requirements
	array        *array
	het          *hetJob

	// runFor is how long the job runs; endTime is when it will end, by itself or at its time limit.
	runFor  slurm.Time
	result  result
	endTime slurm.Time
	// due is when the next event is due: the job ends, releases its nodes, or is purged.
	due           slurm.Time
	beginTime     slurm.Time
	dependencies  []dependency
	blockedReason string // the reason why a dependency keeps it pending
	allocations   []*NodeAllocation
	queued        bool
	purged        bool
}

// result is how a job ends by itself.
type result struct {
	exit    ExitCode
	forever bool // it runs until something else ends it
}

func (j *job) state() slurm.JobBase { return j.View().State.Base }

func (j *job) pending() bool { return j.state() == slurm.JobPending }

// edit returns the job's record for writing and marks jobs as changed.
func (c *Cluster) edit(j *job) *JobRecord {
	c.changedAt.Jobs = c.now
	return j.Record.Edit(c.generation)
}

// appendJob adds a new job at the end of the table.
func (c *Cluster) appendJob(j *job) {
	j.index = len(c.jobs)
	c.jobs = append(c.jobs, j)
	c.jobByID[j.id] = j
	c.changedAt.Jobs = c.now
}

// newID returns the next free job id.
func (c *Cluster) newID() uint32 {
	const maxJobID = 0x03ffffff
	for {
		c.lastJobID++
		if c.lastJobID > maxJobID {
			c.lastJobID = 1
		}
		if c.jobByID[c.lastJobID] == nil {
			return c.lastJobID
		}
	}
}

// flagText returns the names of the flags. Jobs share the few distinct texts.
func (c *Cluster) flagText(f jobFlags) string {
	if text, ok := c.flagTexts[f]; ok {
		return text
	}
	text := ""
	for i, name := range jobFlagNames() {
		if f&(1<<i) != 0 {
			if text != "" {
				text += ","
			}
			text += name
		}
	}
	c.flagTexts[f] = text
	return text
}

// purge drops the purged jobs from the table.
func (c *Cluster) purge() {
	kept := c.jobs[:0:0]
	for _, j := range c.jobs {
		if j.purged {
			c.removeJob(j)
			continue
		}
		j.index = len(kept)
		kept = append(kept, j)
	}
	c.jobs = kept
	c.changedAt.Jobs = c.now
}

func (c *Cluster) removeJob(j *job) {
	if c.jobByID[j.id] == j {
		delete(c.jobByID, j.id)
	}
	if a := j.array; a != nil {
		delete(a.splitTasks, j)
		if a.base == j {
			a.base = nil
		}
		if a.base == nil && len(a.splitTasks) == 0 {
			delete(c.arrays, a.id)
		}
	}
}

// Jobs returns all job records in slurmctld's order, as a client of the newest API version should
// see them.
func (c *Cluster) Jobs() []slurm.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]slurm.Job, len(c.jobs))
	for i, j := range c.jobs {
		out[i] = j.View().shared()
	}
	return out
}

// Job returns the record of one job, or of an array task that has its own record.
func (c *Cluster) Job(id uint32) (slurm.Job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobByID[id]
	if j == nil {
		return slurm.Job{}, false
	}
	return j.View().shared(), true
}

// Nodes returns all node records, including FUTURE ones.
func (c *Cluster) Nodes() []slurm.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]slurm.Node, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = *n.View()
	}
	return out
}

// Node returns the record of one node.
func (c *Cluster) Node(name string) (slurm.Node, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodeByName[name]
	if n == nil {
		return slurm.Node{}, false
	}
	return *n.View(), true
}
