package demand

import (
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// requirements are what a job requires of its nodes, parsed from its record.
type requirements struct {
	// nodes is the minimum number of nodes, maxNodes the maximum, 0 for any. preferredNodes is the
	// number that slurmctld allocates if that many are available.
	nodes, maxNodes, preferredNodes uint64
	cpus, tasks, cpusPerTask        uint64
	tasksPerNode                    uint64
	minCPUs, tmpDisk                uint64
	memoryPerNode, memoryPerCPU     uint64
	gresPerNode, gresPerJob         map[string]uint64
	gresPerTask                     map[string]uint64
	// memoryPerGRES is the memory in MiB per unit of a resource.
	memoryPerGRES map[string]uint64
	// spreadsGRES is whether slurmctld distributes generic resources of the job to any number of
	// nodes.
	spreadsGRES    bool
	threadsPerCore uint64
	wholeMemory    bool
	constraint     constraint
	readable       bool
	requiredNodes  []string
	excludedNodes  map[string]bool
	// exclusive is whether the job has its nodes to itself. exclusiveToGroup is whether it shares
	// them only with jobs of its group, which have the same user.
	exclusive, exclusiveToGroup bool
}

// parseRequirements parses the record of a job. It never fails: malformed GRES are ignored, and a
// malformed constraint clears readable.
func parseRequirements(a *jobSpec) requirements {
	n := requirements{
		nodes: max(a.nodes, 1), maxNodes: a.maxNodes,
		cpus: max(a.cpus, 1), tasks: a.tasks, cpusPerTask: max(a.cpusPerTask, 1),
		minCPUs: max(a.minCPUs, 1), tmpDisk: a.tmpDisk,
		memoryPerNode: a.memoryPerNode, memoryPerCPU: a.memoryPerCPU,
		threadsPerCore: a.threadsPerCore, wholeMemory: a.wholeMemory,
		tasksPerNode: a.tasksPerNode, requiredNodes: expandHostlist(a.requiredNodes),
	}
	if a.memoryPerTRES != "" {
		n.memoryPerNode = 0 // slurmctld reports the memory of one unit of the resource
	}
	if a.tasksPerNode > 0 {
		n.nodes = max(n.nodes, divideUp(a.tasks, a.tasksPerNode))
	}
	n.parseNodes(a)
	n.nodes = max(n.nodes, uint64(len(n.requiredNodes)))
	n.preferredNodes = max(n.preferredNodes, n.nodes)
	n.constraint, n.readable = parseConstraint(a.features)
	if a.excludedNodes != "" {
		n.excludedNodes = expandHostlists([]string{a.excludedNodes})
	}
	for mode := range strings.SplitSeq(a.shared, ",") {
		n.exclusive = n.exclusive || mode == "none" || mode == "topo"
		n.exclusiveToGroup = n.exclusiveToGroup || mode == "user" || mode == "mcs"
	}
	n.parseGRESNeeds(a)
	return n
}

// parseNodes corrects the number of nodes. slurmctld reports for a pending job the maximum that it
// requests, or a guess from the size of the first nodes. The minimum is in its requested TRES.
// Where the job requests no range, the maximum is its number of tasks or 0.
func (n *requirements) parseNodes(a *jobSpec) {
	t, err := slurm.ParseTRES(a.tresRequested)
	if err != nil || t.Nodes == 0 || t.Nodes > n.nodes {
		return
	}
	if len(n.requiredNodes) > 0 && t.Nodes < n.nodes && n.nodes == n.maxNodes {
		n.maxNodes = 0 // slurmctld 24.11 guesses this as well
	}
	if t.Nodes > 1 || n.maxNodes > 0 && n.maxNodes != n.tasks {
		n.preferredNodes = n.nodes
	}
	n.nodes = t.Nodes
	if a.tasksPerNode > 0 {
		n.nodes = max(n.nodes, divideUp(a.tasks, a.tasksPerNode))
	}
}

// dropGuessedMaximum clears the maximum number of nodes of a job that names nodes, where it can be
// a guess of slurmctld: the number of named nodes, which -N can have requested too.
func (n *requirements) dropGuessedMaximum() {
	if named := uint64(len(n.requiredNodes)); named > 0 && n.maxNodes == named && n.tasks > named &&
		n.tasksPerNode == 0 {
		n.maxNodes = 0
	}
}

func (n *requirements) parseGRESNeeds(a *jobSpec) {
	n.spreadsGRES = a.maxNodes != 1 &&
		(strings.Contains(a.tresPerJob, "gres") || strings.Contains(a.tresPerTask, "gres"))
	addGRES(&n.gresPerNode, a.tresPerNode)
	addGRES(&n.gresPerNode, a.tresPerSocket) // at least one socket
	addGRES(&n.gresPerJob, a.tresPerJob)
	addGRES(&n.gresPerTask, a.tresPerTask)
	addGRES(&n.memoryPerGRES, a.memoryPerTRES)
	// slurmctld's total, where GRES are in AccountingStorageTRES.
	if strings.Contains(a.tresRequested, "gres/") {
		if t, err := slurm.ParseTRES(a.tresRequested); err == nil {
			for name, count := range t.GRES {
				raiseCount(&n.gresPerJob, name, count)
			}
		}
	}
}

// addGRES adds the generic resources of text such as "gres/gpu:h100:2,gres/shard=1", each under its
// name and under its name with type.
func addGRES(to *map[string]uint64, text string) {
	if text == "" {
		return
	}
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		rest, isGRES := strings.CutPrefix(item, "gres")
		if isGRES && rest != "" && (rest[0] == '/' || rest[0] == ':') {
			list = append(list, strings.ReplaceAll(rest[1:], "=", ":"))
		}
	}
	counts, err := slurm.ParseGRES(strings.Join(list, ","))
	if err != nil {
		return
	}
	for name, count := range counts {
		raiseCount(to, name, count)
	}
}

func raiseCount(to *map[string]uint64, name string, count uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[name] = max((*to)[name], count)
}

// perNode writes to v what each of that many nodes of the shape must provide. The shape is nil if
// it is unknown. Jobs do not share cores, and nodes do not share the resources of a task.
func (d *selection) perNode(n *requirements, v amounts, s *shape, nodes uint64) {
	tasks := divideUp(n.tasks, nodes)
	v[amountCPUs] = max(n.minCPUs, divideUp(n.cpus, nodes), saturating.Mul(tasks, n.cpusPerTask))
	if s != nil && d.wholeCores {
		v[amountCPUs] = s.wholeCores(v[amountCPUs], n.threadsPerCore)
	}
	var memory uint64
	for i, name := range d.gresNames {
		v[amountGRES+i] = max(n.gresPerNode[name], divideUp(n.gresPerJob[name], nodes),
			saturating.Mul(n.gresPerTask[name], max(tasks, 1)))
		memory = saturating.Add(memory, saturating.Mul(n.memoryPerGRES[name], v[amountGRES+i]))
	}
	v[amountMemory] = max(n.memoryPerNode, saturating.Mul(n.memoryPerCPU, v[amountCPUs]), memory)
	if n.memoryPerGRES == nil && n.wholeMemory && d.wholeMemory && s != nil && s.room[amountMemory] != math.MaxUint64 {
		v[amountMemory] = s.room[amountMemory]
	}
}

// scatters reports whether slurmctld puts the tasks on any nodes of the shape that have room, as
// many on each as fit. It does so for jobs that specify nothing but the needs of a task. most is
// the maximum number of nodes.
func (d *selection) scatters(n *requirements, s *shape, most uint64) bool {
	return n.tasks > 1 && most >= n.tasks && n.nodes < n.tasks && n.tasksPerNode == 0 && !n.exclusive &&
		!n.exclusiveToGroup &&
		n.memoryPerNode == 0 && n.minCPUs <= n.cpusPerTask && n.cpus <= saturating.Mul(n.tasks, n.cpusPerTask) &&
		len(n.gresPerNode)+len(n.gresPerJob)+len(n.gresPerTask)+len(n.memoryPerGRES) == 0 &&
		len(n.requiredNodes) == 0 && !(n.wholeMemory && d.wholeMemory) && !(d.wholeCores && s.threads > 1)
}

// perTask writes to v what a node must provide for each task.
func (n *requirements) perTask(v amounts) {
	clear(v)
	v[amountCPUs], v[amountMemory] = n.cpusPerTask, saturating.Mul(n.memoryPerCPU, n.cpusPerTask)
}

// maxSpread returns the largest number of nodes that the job could be spread over.
func (n *requirements) maxSpread(limit uint64) uint64 {
	spread := n.cpus
	if n.tasks > 0 {
		spread = n.tasks
	}
	if n.spreadsGRES {
		for _, count := range n.gresPerJob {
			spread = max(spread, count) // at worst one unit per node
		}
	}
	most := max(n.nodes, spread)
	for _, l := range []uint64{n.maxNodes, limit} {
		if l > 0 {
			most = min(most, l)
		}
	}
	return most
}

// meets reports whether the job accepts nodes of the shape, whatever their size.
func (n *requirements) meets(s *shape) bool {
	return n.readable && s.tmpDisk >= n.tmpDisk && n.constraint.isMetBy(s)
}

func (n *requirements) excludesNode(node string) bool {
	return n.excludedNodes[node] || (len(n.requiredNodes) > 0 && slices.Contains(n.requiredNodes, node))
}

// maxNodesWithin returns how many nodes the job can have under the limit. preferredNodesWithin
// returns how many it prefers: as many as possible if it requests a range.
func (n *requirements) maxNodesWithin(limit uint64) uint64 {
	most := uint64(math.MaxUint32)
	for _, l := range [...]uint64{n.maxNodes, limit} {
		if l > 0 {
			most = min(most, l)
		}
	}
	return most
}

func (n *requirements) preferredNodesWithin(limit uint64) uint64 {
	return max(n.nodes, min(n.preferredNodes, n.maxNodesWithin(limit)))
}
