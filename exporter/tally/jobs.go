package tally

import (
	"math/bits"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Amounts are the resources of a group of jobs.
type Amounts struct {
	CPUs, GPUs, MemoryMiB, Nodes uint64
	// HasUnknownGPUs is whether a job has GPUs whose number is not known.
	HasUnknownGPUs bool
}

func (a *Amounts) add(t jobTRES, times uint64) {
	a.HasUnknownGPUs = a.HasUnknownGPUs || !t.hasGPUs && times > 0
	a.CPUs += t.CPUs * times
	a.GPUs += t.GPUs() * times
	a.MemoryMiB += t.MemoryMiB * times
	a.Nodes += t.Nodes * times
}

// Jobs counts jobs as "squeue --array" shows them: every array task counts, with or without
// its own record, and so does every heterogeneous component. For a revoked record of a
// federation only the flag counts, because the job belongs to another cluster.
type Jobs struct {
	Total   uint64
	byState [16]uint64 // by slurm.JobBase
	ByFlag  [20]uint64 // by the bit of slurm.JobFlags
	Held    uint64
	// Pending are the requested resources of pending jobs; running and suspended are the
	// allocated resources of running and suspended jobs.
	Pending, Running, Suspended Amounts
	// The largest and smallest node counts that pending jobs request.
	MaxNodes, MinNodes             uint64
	MaxNodesUnheld, MinNodesUnheld uint64 // without held jobs
	WaitingForNodeLimit            uint64 // waiting for PartitionNodeLimit
}

func (t *Jobs) add(j *slurm.Job, c jobFacts) {
	for set := uint32(j.State.Flags); set != 0; set &= set - 1 {
		t.ByFlag[bits.TrailingZeros32(set)] += c.tasks
	}
	if j.State.Has(slurm.JobRevoked) {
		return
	}
	t.Total += c.tasks
	t.byState[j.State.Base] += c.tasks
	switch j.State.Base {
	case slurm.JobPending:
		t.Pending.add(c.requested, c.tasks)
		t.addPending(j, c)
	case slurm.JobRunning:
		t.Running.add(c.allocated, 1)
	case slurm.JobSuspended:
		t.Suspended.add(c.allocated, 1)
	}
}

func (t *Jobs) addPending(j *slurm.Job, c jobFacts) {
	nodes := j.NodeCount.Or(0)
	t.MaxNodes = max(t.MaxNodes, nodes)
	t.MinNodes = minNonZero(t.MinNodes, nodes)
	if c.isHeld {
		t.Held += c.tasks
	} else {
		t.MaxNodesUnheld = max(t.MaxNodesUnheld, nodes)
		t.MinNodesUnheld = minNonZero(t.MinNodesUnheld, nodes)
	}
	if j.Reason == "PartitionNodeLimit" {
		t.WaitingForNodeLimit += c.tasks
	}
}

func minNonZero(a, b uint64) uint64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// InState returns how many jobs are in a base state.
func (t *Jobs) InState(b slurm.JobBase) uint64 { return t.byState[b] }

// WithFlag returns how many jobs have a flag.
func (t *Jobs) WithFlag(f slurm.JobFlags) uint64 {
	return t.ByFlag[bits.TrailingZeros32(uint32(f))]
}

// Finished returns the number of finished jobs.
func (t *Jobs) Finished() uint64 {
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
	requested, allocated jobTRES
}

// jobTRES are the resources of a job. hasGPUs is false if it has GPUs whose number is not known.
type jobTRES struct {
	slurm.TRES
	hasGPUs bool
}

// JobTotals are the sums over all jobs.
type JobTotals struct {
	All     Jobs
	Records int
	// A job that may run in several partitions counts in each of them.
	ByPartition, ByUser, ByAccount, ByQOS map[string]*Jobs
	UserID                                map[string]uint32
	ByReason                              map[string]uint64 // pending jobs only
	// PendingGPUs are the GPUs that pending jobs request, by type, empty for any. They are not known if All.Pending.HasUnknownGPUs.
	PendingGPUs map[string]uint64
	// inexact is true if slurmctld truncated the task list of an array.
	inexact bool

	tresByText       map[string]slurm.TRES
	gpusByRequest    map[gpuRequest]map[string]uint64
	partitionsByText map[string][]string
}

// TotalJobs returns the sums over the jobs.
func TotalJobs(jobs []*slurm.Job) *JobTotals {
	t := &JobTotals{
		ByPartition: map[string]*Jobs{}, ByUser: map[string]*Jobs{},
		ByAccount: map[string]*Jobs{}, ByQOS: map[string]*Jobs{},
		UserID: map[string]uint32{}, ByReason: map[string]uint64{}, PendingGPUs: map[string]uint64{},
		tresByText: map[string]slurm.TRES{}, gpusByRequest: map[gpuRequest]map[string]uint64{}, partitionsByText: map[string][]string{},
	}
	for _, j := range jobs {
		t.add(j)
	}
	t.tresByText, t.gpusByRequest, t.partitionsByText = nil, nil, nil
	return t
}

// Allocated returns what a job has, or had when it ran.
func Allocated(j *slurm.Job) Amounts {
	var a Amounts
	text, hasGPUs := j.AllocatedTRES()
	tres, _ := slurm.ParseTRES(text)
	a.add(jobTRES{tres, hasGPUs}, 1)
	return a
}

func (t *JobTotals) add(j *slurm.Job) {
	c := jobFacts{tasks: 1, requested: t.parseTRES(j.RequestedTRES()), allocated: t.parseTRES(j.AllocatedTRES())}
	if j.State.Base == slurm.JobPending {
		n, exact := pending.CountTasks(j)
		c.tasks = n
		t.inexact = t.inexact || !exact
		c.isHeld = pending.Held(j)
		if !j.State.Has(slurm.JobRevoked) {
			t.ByReason[reasonText(j.Reason)] += n
			t.addPendingGPUs(j, n)
		}
	}
	t.Records++
	t.All.add(j, c)
	for _, p := range t.parsePartitions(j.Partition) {
		valueAt(t.ByPartition, p).add(j, c)
	}
	valueAt(t.ByUser, j.UserName()).add(j, c)
	t.UserID[j.UserName()] = j.UserID()
	valueAt(t.ByAccount, j.Account()).add(j, c)
	valueAt(t.ByQOS, j.QOS()).add(j, c)
}

// gpuRequest contains the fields that determine the GPUs of a job by type.
type gpuRequest struct {
	requested, perJob, perNode, perTask, perSocket string
	nodes, tasks                                   slurm.Number
}

// addPendingGPUs counts the GPUs that each of a number of jobs like j requests.
func (t *JobTotals) addPendingGPUs(j *slurm.Job, times uint64) {
	of := gpuRequest{j.TRESRequested, j.TRESPerJob(), j.TRESPerNode(), j.TRESPerTask(), j.TRESPerSocket(), j.NodeCount, j.Tasks}
	byType, known := t.gpusByRequest[of]
	if !known {
		byType, _ = j.RequestedGPUTypes()
		t.gpusByRequest[of] = byType
	}
	for kind, n := range byType {
		t.PendingGPUs[kind] += n * times
	}
}

func reasonText(r string) string {
	if r == "" {
		return "None"
	}
	return r
}

// parseTRES parses TRES text and omits items that it cannot parse.
func (t *JobTotals) parseTRES(text string, hasGPUs bool) jobTRES {
	tres, ok := t.tresByText[text]
	if !ok {
		tres, _ = slurm.ParseTRES(text)
		t.tresByText[text] = tres
	}
	return jobTRES{tres, hasGPUs}
}

func (t *JobTotals) parsePartitions(text string) []string {
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
