package slurmtest

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobRecord is a job as answers show it: the noun and what only the wire has.
type jobRecord struct {
	slurm.Job
	groupID, assocID uint32
	batch            bool // it has a script of its own
	comment          string
	directory        string
	submitLine       string
	licensesHeld     string
	failedNode       string
	exit             exitCode
	gres             []string
	flags            jobFlags
	// held are the nodes of a job that runs or ran, nil while it is pending.
	held []*grant
	// preSuspended is the run time before the last suspension.
	preSuspended slurm.Time
}

type exitCode struct {
	code, signal uint32
}

// jobFlags are bits that become slurm.Job.Flags.
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

// grant is what a job holds of one node.
type grant struct {
	node          *node
	name          string
	cpus          uint32
	memory        uint64
	gpus          uint64
	cores         coreSet
	sockets, wide uint32 // sockets and cores of each
}

// job is a job of the model. Its record is what answers show.
type job struct {
	shared[jobRecord]
	id    uint32
	place int // in Cluster.jobs
	wish  wish
	array *array
	het   *hetJob

	// runFor is how long it runs; ends when it will end, by itself or at its limit.
	runFor slurm.Time
	result result
	ends   slurm.Time
	// due is when the next thing happens to it: it ends, is freed, is purged.
	due     slurm.Time
	begin   slurm.Time
	depends []dependency
	blocked string // the reason that a dependency or an array limit gives
	grants  []*grant
	queued  bool
	gone    bool
}

// result is how a job will end when nothing else happens.
type result struct {
	exit  exitCode
	never bool // it runs until it is ended
}

func (j *job) state() slurm.JobBase { return j.view().State.Base }

func (j *job) pending() bool { return j.state() == slurm.JobPending }

// edit returns the job's record for writing and notes that jobs changed.
func (c *Cluster) edit(j *job) *jobRecord {
	c.changed.jobs = c.now
	return j.shared.edit(c.gen)
}

// appendJob puts a new job at the end of the table.
func (c *Cluster) appendJob(j *job) {
	j.place = len(c.jobs)
	c.jobs = append(c.jobs, j)
	c.jobByID[j.id] = j
	c.changed.jobs = c.now
}

// newID returns the next free job id.
func (c *Cluster) newID() uint32 {
	const maxJobID = 0x03ffffff
	for {
		c.lastID++
		if c.lastID > maxJobID {
			c.lastID = 1
		}
		if c.jobByID[c.lastID] == nil {
			return c.lastID
		}
	}
}

// flagText returns the names of the flags. Jobs share the texts: there are few.
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

// purge drops the jobs that are gone from the table.
func (c *Cluster) purge() {
	kept := c.jobs[:0:0]
	for _, j := range c.jobs {
		if j.gone {
			c.forgetJob(j)
			continue
		}
		j.place = len(kept)
		kept = append(kept, j)
	}
	c.jobs = kept
	c.changed.jobs = c.now
}

func (c *Cluster) forgetJob(j *job) {
	if c.jobByID[j.id] == j {
		delete(c.jobByID, j.id)
	}
	if a := j.array; a != nil {
		delete(a.split, j)
		if a.base == j {
			a.base = nil
		}
		if a.base == nil && len(a.split) == 0 {
			delete(c.arrays, a.id)
		}
	}
}

// Jobs returns all job records as nouns, in slurmctld's order: what a client
// that reads the newest API version should see.
func (c *Cluster) Jobs() []slurm.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]slurm.Job, len(c.jobs))
	for i, j := range c.jobs {
		out[i] = j.view().Job
	}
	return out
}

// Job returns the record of one job or split array task.
func (c *Cluster) Job(id uint32) (slurm.Job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobByID[id]
	if j == nil {
		return slurm.Job{}, false
	}
	return j.view().Job, true
}

// Nodes returns all node records as nouns, FUTURE ones too.
func (c *Cluster) Nodes() []slurm.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]slurm.Node, len(c.nodes))
	for i, n := range c.nodes {
		out[i] = *n.view()
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
	return *n.view(), true
}
