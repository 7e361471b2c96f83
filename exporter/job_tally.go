package exporter

import (
	"math/bits"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// amounts are the resources of a group of jobs.
type amounts struct{ cpus, gpus, memoryMiB, nodes uint64 }

func (a *amounts) add(t slurm.TRES, times uint64) {
	a.cpus += t.CPUs * times
	a.gpus += t.GPUs() * times
	a.memoryMiB += t.MemoryMiB * times
	a.nodes += t.Nodes * times
}

// jobTally counts jobs as "squeue --array" shows them: every array task counts, with or without
// its own record, and so does every heterogeneous component. For a revoked record of a
// federation only the flag counts, because the job belongs to another cluster.
type jobTally struct {
	total   uint64
	byState [16]uint64 // by slurm.JobBase
	byFlag  [20]uint64 // by the bit of slurm.JobFlags
	held    uint64
	// pending are the requested resources of pending jobs; running and suspended are the
	// allocated resources of running and suspended jobs.
	pending, running, suspended amounts
	// The largest and smallest node counts that pending jobs request.
	maxNodes, minNodes             uint64
	maxNodesUnheld, minNodesUnheld uint64 // without held jobs
	waitingForNodeLimit            uint64 // waiting for PartitionNodeLimit
}

func (t *jobTally) add(j *slurm.Job, c jobFacts) {
	for set := uint32(j.State.Flags); set != 0; set &= set - 1 {
		t.byFlag[bits.TrailingZeros32(set)] += c.tasks
	}
	if j.State.Has(slurm.JobRevoked) {
		return
	}
	t.total += c.tasks
	t.byState[j.State.Base] += c.tasks
	switch j.State.Base {
	case slurm.JobPending:
		t.pending.add(c.requested, c.tasks)
		t.addPending(j, c)
	case slurm.JobRunning:
		t.running.add(c.allocated, 1)
	case slurm.JobSuspended:
		t.suspended.add(c.allocated, 1)
	}
}

func (t *jobTally) addPending(j *slurm.Job, c jobFacts) {
	nodes := j.NodeCount.Or(0)
	t.maxNodes = max(t.maxNodes, nodes)
	t.minNodes = minNonZero(t.minNodes, nodes)
	if c.isHeld {
		t.held += c.tasks
	} else {
		t.maxNodesUnheld = max(t.maxNodesUnheld, nodes)
		t.minNodesUnheld = minNonZero(t.minNodesUnheld, nodes)
	}
	if j.Reason == "PartitionNodeLimit" {
		t.waitingForNodeLimit += c.tasks
	}
}

func minNonZero(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// inState returns how many jobs are in a base state.
func (t *jobTally) inState(b slurm.JobBase) uint64 { return t.byState[b] }

// withFlag returns how many jobs have a flag.
func (t *jobTally) withFlag(f slurm.JobFlags) uint64 {
	return t.byFlag[bits.TrailingZeros32(uint32(f))]
}

func (t *jobTally) finished() uint64 {
	var n uint64
	for _, b := range slurm.JobBases() {
		if b.Finished() {
			n += t.byState[b]
		}
	}
	return n
}

// jobFacts are values derived once from a job's record, for all tallies.
type jobFacts struct {
	tasks                uint64
	isHeld               bool
	requested, allocated slurm.TRES
}

// jobTotals are the sums over all jobs.
type jobTotals struct {
	all     jobTally
	records int
	// A job that may run in several partitions counts in each of them.
	byPartition, byUser, byAccount, byQOS map[string]*jobTally
	userID                                map[string]uint32
	byReason                              map[string]uint64 // pending jobs only
	// inexact is true if slurmctld truncated the task list of an array.
	inexact bool

	tresByText       map[string]slurm.TRES
	partitionsByText map[string][]string
}

func totalJobs(jobs []*slurm.Job) *jobTotals {
	t := &jobTotals{
		byPartition: map[string]*jobTally{}, byUser: map[string]*jobTally{},
		byAccount: map[string]*jobTally{}, byQOS: map[string]*jobTally{},
		userID: map[string]uint32{}, byReason: map[string]uint64{},
		tresByText: map[string]slurm.TRES{}, partitionsByText: map[string][]string{},
	}
	for _, j := range jobs {
		t.add(j)
	}
	t.tresByText, t.partitionsByText = nil, nil
	return t
}

func (t *jobTotals) add(j *slurm.Job) {
	c := jobFacts{tasks: 1, requested: t.parseTRES(j.TRESRequested), allocated: t.parseTRES(j.TRESAllocated)}
	if j.State.Base == slurm.JobPending {
		n, exact := demand.PendingTasks(j)
		c.tasks = n
		t.inexact = t.inexact || !exact
		c.isHeld = demand.Held(j)
		if !j.State.Has(slurm.JobRevoked) {
			t.byReason[reasonText(j.Reason)] += n
		}
	}
	t.records++
	t.all.add(j, c)
	for _, p := range t.parsePartitions(j.Partition) {
		valueAt(t.byPartition, p).add(j, c)
	}
	valueAt(t.byUser, j.UserName).add(j, c)
	t.userID[j.UserName] = j.UserID
	valueAt(t.byAccount, j.Account).add(j, c)
	valueAt(t.byQOS, j.QOS).add(j, c)
}

func reasonText(r string) string {
	if r == "" {
		return "None"
	}
	return r
}

// parseTRES parses TRES text and omits items that it cannot parse.
func (t *jobTotals) parseTRES(text string) slurm.TRES {
	tres, ok := t.tresByText[text]
	if !ok {
		tres, _ = slurm.ParseTRES(text)
		t.tresByText[text] = tres
	}
	return tres
}

func (t *jobTotals) parsePartitions(text string) []string {
	list, ok := t.partitionsByText[text]
	if !ok {
		list = (&slurm.Job{Partition: text}).Partitions()
		t.partitionsByText[text] = list
	}
	return list
}

func valueAt[T any](m map[string]*T, key string) *T {
	t := m[key]
	if t == nil {
		t = new(T)
		m[key] = t
	}
	return t
}
