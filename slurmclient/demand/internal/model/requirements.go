package model

import (
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/constraint"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Requirements are what a job requires of its nodes, parsed from its record.
type Requirements struct {
	// Nodes is the minimum number of nodes, MaxNodes the maximum, 0 for any. preferredNodes is the
	// number that slurmctld allocates if that many are available.
	Nodes, MaxNodes, preferredNodes uint64
	CPUs, Tasks, CPUsPerTask        uint64
	TasksPerNode                    uint64
	MinCPUs, TmpDisk                uint64
	MemoryPerNode, MemoryPerCPU     uint64
	GresPerNode, GresPerJob         map[string]uint64
	GresPerTask                     map[string]uint64
	// MemoryPerGRES is the memory in MiB per unit of a resource.
	MemoryPerGRES map[string]uint64
	// SpreadsGRES is whether slurmctld distributes generic resources of the job to any number of
	// nodes.
	SpreadsGRES    bool
	ThreadsPerCore uint64
	WholeMemory    bool
	constraint     constraint.Constraint
	// Readable is whether the constraint and the generic resources could be parsed. Otherwise no node runs the job.
	Readable      bool
	RequiredNodes []string
	ExcludedNodes *NameSet
	// TooManyNames is whether its node lists exceed the bounds of NodeNames; they then do not count.
	TooManyNames bool
	// Exclusive is whether the job has its nodes to itself. ExclusiveToGroup is whether it shares
	// them only with jobs of its group, which have the same user.
	Exclusive, ExclusiveToGroup bool
}

// ParseRequirements parses the record of a job, with the names of all jobs. It never fails: malformed generic resources and a
// malformed constraint clear Readable.
func ParseRequirements(a *JobSpec, names *NodeNames) Requirements {
	required, ok := names.readList(a.requiredNodes)
	excluded, alsoOK := names.readSet(a.excludedNodes)
	n := Requirements{
		Nodes: max(a.nodes, 1), MaxNodes: a.maxNodes,
		CPUs: max(a.CPUs, 1), Tasks: a.tasks, CPUsPerTask: max(a.CPUsPerTask, 1),
		MinCPUs: max(a.minCPUs, 1), TmpDisk: a.tmpDisk,
		MemoryPerNode: a.memoryPerNode, MemoryPerCPU: a.memoryPerCPU,
		ThreadsPerCore: a.threadsPerCore, WholeMemory: a.wholeMemory,
		TasksPerNode: a.tasksPerNode, RequiredNodes: required, ExcludedNodes: excluded,
		TooManyNames: !ok || !alsoOK,
	}
	if a.memoryPerTRES != "" {
		n.MemoryPerNode = 0 // slurmctld reports the memory of one unit of the resource
	}
	if a.tasksPerNode > 0 {
		n.Nodes = max(n.Nodes, DivideUp(a.tasks, a.tasksPerNode))
	}
	n.parseNodes(a)
	n.Nodes = max(n.Nodes, uint64(len(n.RequiredNodes)))
	n.preferredNodes = max(n.preferredNodes, n.Nodes)
	n.constraint, n.Readable = constraint.Parse(a.Features)
	for mode := range strings.SplitSeq(a.shared, ",") {
		n.Exclusive = n.Exclusive || mode == "none" || mode == "topo"
		n.ExclusiveToGroup = n.ExclusiveToGroup || mode == "user" || mode == "mcs"
	}
	n.parseGRESNeeds(a)
	return n
}

// parseNodes corrects the number of nodes. For a pending job, slurmctld reports the maximum that it requests, or a guess from the size of
// the first nodes. The minimum is in its requested TRES. If the job requests no range, the maximum is its number of tasks or 0.
func (n *Requirements) parseNodes(a *JobSpec) {
	t, err := slurm.ParseTRES(a.tresRequested)
	if err != nil || t.Nodes == 0 || t.Nodes > n.Nodes {
		return
	}
	if len(n.RequiredNodes) > 0 && t.Nodes < n.Nodes && n.Nodes == n.MaxNodes {
		n.MaxNodes = 0 // slurmctld 24.11 guesses this as well
	}
	if t.Nodes > 1 || n.MaxNodes > 0 && n.MaxNodes != n.Tasks {
		n.preferredNodes = n.Nodes
	}
	n.Nodes = t.Nodes
	if a.tasksPerNode > 0 {
		n.Nodes = max(n.Nodes, DivideUp(a.tasks, a.tasksPerNode))
	}
}

// DropGuessedMaximum clears the maximum number of nodes of a job that names nodes if slurmctld may have guessed it. The guess is the number
// of named nodes, which -N can have requested too.
func (n *Requirements) DropGuessedMaximum() {
	if named := uint64(len(n.RequiredNodes)); named > 0 && n.MaxNodes == named && n.Tasks > named &&
		n.TasksPerNode == 0 {
		n.MaxNodes = 0
	}
}

func (n *Requirements) parseGRESNeeds(a *JobSpec) {
	n.SpreadsGRES = a.maxNodes != 1 &&
		(strings.Contains(a.TresPerJob, "gres") || strings.Contains(a.tresPerTask, "gres"))
	addGRES := func(to *map[string]uint64, text string) { n.Readable = addGRES(to, text) == nil && n.Readable }
	addGRES(&n.GresPerNode, a.tresPerNode)
	addGRES(&n.GresPerNode, a.tresPerSocket) // at least one socket
	addGRES(&n.GresPerJob, a.TresPerJob)
	addGRES(&n.GresPerTask, a.tresPerTask)
	addGRES(&n.MemoryPerGRES, a.memoryPerTRES)
	// slurmctld's total, where GRES are in AccountingStorageTRES.
	if strings.Contains(a.tresRequested, "gres/") {
		if t, err := slurm.ParseTRES(a.tresRequested); err == nil {
			for name, count := range t.GRES {
				raiseCount(&n.GresPerJob, name, count)
			}
		}
	}
}

// addGRES adds the generic resources of text such as "gres/gpu:h100:2,gres/shard=1", each under its
// name and under its name with type.
func addGRES(to *map[string]uint64, text string) error {
	counts, err := slurm.ParseGRESRequest(text)
	for name, count := range counts {
		raiseCount(to, name, count)
	}
	return err
}

func raiseCount(to *map[string]uint64, name string, count uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[name] = max((*to)[name], count)
}

// PerNode writes to v what each of the given number of nodes of the shape must provide. The shape is nil if it is unknown. Jobs do not
// share cores, and nodes do not share the resources of a task.
func (d *Selection) PerNode(n *Requirements, v Amounts, s *NodeShape, nodes uint64) {
	tasks := DivideUp(n.Tasks, nodes)
	v[AmountCPUs] = max(n.MinCPUs, DivideUp(n.CPUs, nodes), saturating.Mul(tasks, n.CPUsPerTask))
	if s != nil && d.WholeCores {
		v[AmountCPUs] = s.WholeCores(v[AmountCPUs], n.ThreadsPerCore)
	}
	var memory uint64
	for i, name := range d.GresNames {
		v[AmountGRES+i] = max(n.GresPerNode[name], DivideUp(n.GresPerJob[name], nodes),
			saturating.Mul(n.GresPerTask[name], max(tasks, 1)))
		memory = saturating.Add(memory, saturating.Mul(n.MemoryPerGRES[name], v[AmountGRES+i]))
	}
	v[AmountMemory] = max(n.MemoryPerNode, saturating.Mul(n.MemoryPerCPU, v[AmountCPUs]), memory)
	if n.MemoryPerGRES == nil && n.WholeMemory && d.WholeMemory && s != nil && s.Room[AmountMemory] != math.MaxUint64 {
		v[AmountMemory] = s.Room[AmountMemory]
	}
}

// Scatters reports whether slurmctld puts the tasks on any nodes of the shape that have room, as
// many on each as fit. It does so for jobs that specify nothing but the needs of a task. most is
// the maximum number of nodes.
func (d *Selection) Scatters(n *Requirements, s *NodeShape, most uint64) bool {
	return n.Tasks > 1 && most >= n.Tasks && n.Nodes < n.Tasks && n.TasksPerNode == 0 && !n.Exclusive &&
		!n.ExclusiveToGroup &&
		n.MemoryPerNode == 0 && n.MinCPUs <= n.CPUsPerTask && n.CPUs <= saturating.Mul(n.Tasks, n.CPUsPerTask) &&
		len(n.GresPerNode)+len(n.GresPerJob)+len(n.GresPerTask)+len(n.MemoryPerGRES) == 0 &&
		len(n.RequiredNodes) == 0 && !(n.WholeMemory && d.WholeMemory) && !(d.WholeCores && s.Threads > 1)
}

// PerTask writes to v what a node must provide for each task.
func (n *Requirements) PerTask(v Amounts) {
	clear(v)
	v[AmountCPUs], v[AmountMemory] = n.CPUsPerTask, saturating.Mul(n.MemoryPerCPU, n.CPUsPerTask)
}

// MaxSpread returns the largest number of nodes that the job could be spread over.
func (n *Requirements) MaxSpread(limit uint64) uint64 {
	spread := n.CPUs
	if n.Tasks > 0 {
		spread = n.Tasks
	}
	if n.SpreadsGRES {
		for _, count := range n.GresPerJob {
			spread = max(spread, count) // at worst one unit per node
		}
	}
	most := max(n.Nodes, spread)
	for _, l := range []uint64{n.MaxNodes, limit} {
		if l > 0 {
			most = min(most, l)
		}
	}
	return most
}

// Meets reports whether the job accepts nodes of the shape, whatever their size.
func (n *Requirements) Meets(s *NodeShape) bool {
	return n.Readable && s.tmpDisk >= n.TmpDisk && n.constraint.IsMetBy(s)
}

// ExcludesNode reports whether the job excludes a node by name.
func (n *Requirements) ExcludesNode(node string) bool {
	return n.ExcludedNodes.Has(node) || (len(n.RequiredNodes) > 0 && slices.Contains(n.RequiredNodes, node))
}

// MaxNodesWithin returns how many nodes the job can have under the limit. PreferredNodesWithin
// returns how many it prefers: as many as possible if it requests a range.
func (n *Requirements) MaxNodesWithin(limit uint64) uint64 {
	most := uint64(math.MaxUint32)
	for _, l := range [...]uint64{n.MaxNodes, limit} {
		if l > 0 {
			most = min(most, l)
		}
	}
	return most
}

// PreferredNodesWithin returns how many nodes slurmctld tries first, up to the limit.
func (n *Requirements) PreferredNodesWithin(limit uint64) uint64 {
	return max(n.Nodes, min(n.preferredNodes, n.MaxNodesWithin(limit)))
}

// ThreadsOn returns how many CPUs of each core of the shape the job uses.
func (n *Requirements) ThreadsOn(s *NodeShape) uint64 {
	if s.Threads <= 1 {
		return 1
	}
	if n.ThreadsPerCore == 0 || n.ThreadsPerCore > s.Threads {
		return s.Threads
	}
	return n.ThreadsPerCore
}

// CpusOfWholeTasks returns the CPUs of the tasks that fit on the given number of CPUs; 0 if each node needs more tasks than fit.
func (n *Requirements) CpusOfWholeTasks(cpus uint64) uint64 {
	tasks, least := cpus/n.CPUsPerTask, uint64(1)
	switch {
	case n.TasksPerNode > 0:
		least = n.TasksPerNode
		tasks = min(tasks, max(least, 1))
	case n.MaxNodes == 1 && n.Tasks > 0:
		least = n.Tasks
	}
	if tasks < least {
		return 0
	}
	return tasks * n.CPUsPerTask
}

// CutsTasks reports whether the tasks would not fit the CPUs that slurmctld allocates on each node, because the partition limits CPUs per
// node. slurmctld counts CPUs, and starts no such job.
func (n *Requirements) CutsTasks(maxCPUs uint64) bool {
	if maxCPUs == 0 || n.CPUsPerTask <= 1 || n.CPUsPerTask > maxCPUs || n.Exclusive ||
		n.Tasks*n.CPUsPerTask <= maxCPUs {
		return false
	}
	full := n.CPUs / maxCPUs
	return full*(maxCPUs/n.CPUsPerTask)+n.CPUs%maxCPUs/n.CPUsPerTask < n.Tasks
}

// CutsWholeNode reports whether the job requires whole nodes of the shape, and these have more CPUs
// than the partition allows on one node. slurmctld starts no such job.
func (n *Requirements) CutsWholeNode(s *NodeShape, maxCPUs uint64) bool {
	return n.Exclusive && maxCPUs > 0 && !s.OneJobPerNode && s.Room[AmountCPUs] > maxCPUs
}
