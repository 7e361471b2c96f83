package demand

import (
	"cmp"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// groupKey is everything that pending jobs must have in common to be counted and packed together.
// Jobs that request no nodes differ in the first four fields only.
type groupKey struct {
	partition, reason string
	class             pending.Class
	deviations        deviationSet
	jobSpec
}

// jobSpec is what a job requests, as texts and numbers of its record. Numbers that are not set are
// 0.
type jobSpec struct {
	features, requiredNodes, excludedNodes string
	tresPerNode, tresPerJob, tresPerTask   string
	tresPerSocket, tresRequested, shared   string
	memoryPerTRES                          string
	nodes, maxNodes, cpus, tasks           uint64
	cpusPerTask, tasksPerNode, minCPUs     uint64
	tmpDisk, memoryPerCPU, memoryPerNode   uint64
	threadsPerCore                         uint64
	hetJobID, userID                       uint32
	anyNodes, wholeMemory                  bool
	// nodesAllowed is the maximum number of nodes by limits of QOS and associations, 0 for any.
	nodesAllowed uint64
}

func groupKeyOf(j *slurm.Job, class pending.Class, anyNodes map[string]bool) groupKey {
	k := groupKey{partition: j.Partition, reason: j.Reason, class: class, deviations: deviationsOf(j)}
	if k.reason == "" {
		k.reason = "None"
	}
	if class != pending.ClassCapacity {
		return k
	}
	k.jobSpec = jobSpec{
		features: j.Features, requiredNodes: j.RequiredNodes, excludedNodes: j.ExcludedNodes,
		tresPerNode: j.TRESPerNode, tresPerJob: j.TRESPerJob, tresPerTask: j.TRESPerTask,
		tresPerSocket: j.TRESPerSocket, tresRequested: j.TRESRequested, shared: j.Shared,
		nodes: j.NodeCount.Or(0), maxNodes: j.MaxNodes.Or(0), cpus: j.CPUs.Or(0), tasks: j.Tasks.Or(0),
		cpusPerTask: j.CPUsPerTask.Or(0), tasksPerNode: j.TasksPerNode.Or(0), minCPUs: j.MinCPUsPerNode.Or(0),
		memoryPerTRES: j.MemoryPerTRES, threadsPerCore: j.ThreadsPerCore.Or(0), wholeMemory: wantsWholeMemory(j),
		tmpDisk: j.MinTmpDiskMiB.Or(0), memoryPerCPU: j.MemoryPerCPU.Or(0), memoryPerNode: j.MemoryPerNode.Or(0),
		hetJobID: j.HetJobID, anyNodes: len(anyNodes) > 0 && anyNodes[j.QOS],
	}
	if strings.Contains(j.Shared, "user") {
		k.userID = j.UserID
	}
	return k
}

// compare defines a fixed order of keys, so that results do not depend on the order of the input.
func (k *groupKey) compare(l *groupKey) int {
	if c := cmp.Or(
		cmp.Compare(k.partition, l.partition), cmp.Compare(k.reason, l.reason),
		cmp.Compare(k.class, l.class), cmp.Compare(k.deviations, l.deviations),
	); c != 0 {
		return c
	}
	return k.jobSpec.compare(&l.jobSpec)
}

func (a *jobSpec) compare(b *jobSpec) int {
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
	return set && memory == 0 && !perCPU && j.MemoryPerTRES == ""
}

func boolToUint(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

func (a *jobSpec) numbers() [16]uint64 {
	return [...]uint64{
		a.nodes, a.maxNodes, a.cpus, a.tasks, a.cpusPerTask, a.tasksPerNode, a.minCPUs, a.tmpDisk,
		a.memoryPerCPU, a.memoryPerNode, uint64(a.hetJobID), uint64(a.userID), boolToUint(a.anyNodes), a.threadsPerCore,
		boolToUint(a.wholeMemory), a.nodesAllowed,
	}
}

func (a *jobSpec) texts() [10]string {
	return [...]string{
		a.features, a.requiredNodes, a.excludedNodes, a.tresPerNode, a.tresPerJob, a.tresPerTask,
		a.tresPerSocket, a.tresRequested, a.shared, a.memoryPerTRES,
	}
}
