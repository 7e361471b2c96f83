package model

import (
	"cmp"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// groupKey contains everything in which pending jobs must agree to be counted and packed together. Jobs that request no
// nodes differ only in the first four fields.
type groupKey struct {
	Partition, reason string
	Class             pending.Class
	Deviations        deviationSet
	JobSpec
}

// JobSpec is a job's request, as texts and numbers of its record. Unset numbers are 0.
type JobSpec struct {
	Features, requiredNodes, excludedNodes string
	tresPerNode, TresPerJob, tresPerTask   string
	tresPerSocket, tresRequested, shared   string
	memoryPerTRES                          string
	nodes, maxNodes, CPUs, tasks           uint64
	CPUsPerTask, tasksPerNode, minCPUs     uint64
	tmpDisk, memoryPerCPU, memoryPerNode   uint64
	threadsPerCore                         uint64
	HetJobID, userID                       uint32
	AnyNodes, wholeMemory                  bool
	// NodesAllowed is the maximum number of nodes by limits of QOS and associations, 0 for any.
	NodesAllowed uint64
}

func groupKeyOf(j *slurm.Job, class pending.Class, anyNodes map[string]bool) groupKey {
	k := groupKey{Partition: j.Partition, reason: j.Reason, Class: class, Deviations: deviationsOf(j)}
	if k.reason == "" {
		k.reason = "None"
	}
	if class != pending.ClassCapacity {
		return k
	}
	k.JobSpec = JobSpec{
		Features: j.Features(), requiredNodes: j.RequiredNodes(), excludedNodes: j.ExcludedNodes(),
		tresPerNode: j.TRESPerNode(), TresPerJob: j.TRESPerJob(), tresPerTask: j.TRESPerTask(),
		tresPerSocket: j.TRESPerSocket(), tresRequested: j.TRESRequested, shared: j.Shared(),
		nodes: j.NodeCount.Or(0), maxNodes: j.MaxNodes().Or(0), CPUs: j.CPUs.Or(0), tasks: j.Tasks.Or(0),
		CPUsPerTask: j.CPUsPerTask().Or(0), tasksPerNode: j.TasksPerNode().Or(0), minCPUs: j.MinCPUsPerNode().Or(0),
		memoryPerTRES: j.MemoryPerTRES(), threadsPerCore: j.ThreadsPerCore().Or(0), wholeMemory: wantsWholeMemory(j),
		tmpDisk: j.MinTmpDiskMiB().Or(0), memoryPerCPU: j.MemoryPerCPU.Or(0), memoryPerNode: j.MemoryPerNode.Or(0),
		HetJobID: j.HetJobID, AnyNodes: len(anyNodes) > 0 && anyNodes[j.QOS()],
	}
	if strings.Contains(j.Shared(), "user") {
		k.userID = j.UserID()
	}
	return k
}

// compare defines a fixed order of keys, so that results do not depend on the order of the input.
func (k *groupKey) compare(l *groupKey) int {
	if c := cmp.Or(
		cmp.Compare(k.Partition, l.Partition), cmp.Compare(k.reason, l.reason),
		cmp.Compare(k.Class, l.Class), cmp.Compare(k.Deviations, l.Deviations),
	); c != 0 {
		return c
	}
	return k.JobSpec.compare(&l.JobSpec)
}

func (a *JobSpec) compare(b *JobSpec) int {
	x, y := a.numbers(), b.numbers()
	for i := range x {
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	s, t := a.texts(), b.texts()
	for i := range s {
		if s[i] != t[i] {
			return cmp.Compare(s[i], t[i])
		}
	}
	return 0
}

// wantsWholeMemory reports whether the job gets all the memory of its nodes: with --mem=0, or
// without a memory request where there is no default (DefMemPerCPU, DefMemPerNode). With a default
// of 0 per CPU it allocates no memory.
func wantsWholeMemory(j *slurm.Job) bool {
	memory, set := j.MemoryPerNode.Value()
	_, perCPU := j.MemoryPerCPU.Value()
	return set && memory == 0 && !perCPU && j.MemoryPerTRES() == ""
}

func boolToUint(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

func (a *JobSpec) numbers() [16]uint64 {
	return [...]uint64{
		a.nodes, a.maxNodes, a.CPUs, a.tasks, a.CPUsPerTask, a.tasksPerNode, a.minCPUs, a.tmpDisk,
		a.memoryPerCPU, a.memoryPerNode, uint64(a.HetJobID), uint64(a.userID), boolToUint(a.AnyNodes), a.threadsPerCore,
		boolToUint(a.wholeMemory), a.NodesAllowed,
	}
}

func (a *JobSpec) texts() [10]string {
	return [...]string{
		a.Features, a.requiredNodes, a.excludedNodes, a.tresPerNode, a.TresPerJob, a.tresPerTask,
		a.tresPerSocket, a.tresRequested, a.shared, a.memoryPerTRES,
	}
}
