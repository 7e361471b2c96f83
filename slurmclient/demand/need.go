package demand

import (
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// need is what a job asks of its nodes, read from Slurm's texts.
type need struct {
	// nodes is the least number of nodes, maxNodes the most, 0 for any, wanted how many
	// there are to be if there are so many.
	nodes, maxNodes, wanted  uint64
	cpus, tasks, cpusPerTask uint64
	tasksPerNode             uint64
	minCPUs, tmpDisk         uint64
	memoryPerNode, perCPU    uint64
	gresPerNode, gresPerJob  map[string]uint64
	gresPerTask              map[string]uint64
	// memoryPerGRES is the memory that goes with each of a resource.
	memoryPerGRES map[string]uint64
	// dealtGRES is whether slurmctld deals generic resources of the job to as many nodes as
	// it likes.
	dealtGRES      bool
	threadsPerCore uint64
	wholeMemory    bool
	constraint     constraint
	readable       bool
	required       []string
	excluded       map[string]bool
	// whole is whether the job has its nodes to itself, alike whether it shares them
	// with jobs of its group only (those of its user).
	whole, alike bool
}

// needOf reads the texts of a job. It never fails: what it can not read of GRES
// is left out, and a constraint that it can not read is marked.
func needOf(a *ask) need {
	n := need{
		nodes: max(a.nodes, 1), maxNodes: a.maxNodes,
		cpus: max(a.cpus, 1), tasks: a.tasks, cpusPerTask: max(a.cpusPerTask, 1),
		minCPUs: max(a.minCPUs, 1), tmpDisk: a.tmpDisk,
		memoryPerNode: a.memoryPerNode, perCPU: a.memoryPerCPU,
		threadsPerCore: a.threadsPerCore, wholeMemory: a.wholeMemory,
		tasksPerNode: a.tasksPerNode, required: expand(a.required),
	}
	if a.memoryPerTRES != "" {
		n.memoryPerNode = 0 // slurmctld tells that of one of the resource
	}
	if a.tasksPerNode > 0 {
		n.nodes = max(n.nodes, share(a.tasks, a.tasksPerNode))
	}
	n.readNodes(a)
	n.nodes = max(n.nodes, uint64(len(n.required)))
	n.wanted = max(n.wanted, n.nodes)
	n.constraint, n.readable = readConstraint(a.features)
	if a.excluded != "" {
		n.excluded = namesOf([]string{a.excluded})
	}
	for mode := range strings.SplitSeq(a.shared, ",") {
		n.whole = n.whole || mode == "none" || mode == "topo"
		n.alike = n.alike || mode == "user" || mode == "mcs"
	}
	n.readGRES(a)
	return n
}

// readNodes corrects the number of nodes. What slurmctld tells of a pending job is the
// most that it asks for, or slurmctld's guess from the size of the first nodes; what it
// asks for at least is among its TRES. Where it tells no range, the most is its tasks or 0.
func (n *need) readNodes(a *ask) {
	t, err := slurm.ParseTRES(a.tresRequested)
	if err != nil || t.Nodes == 0 || t.Nodes > n.nodes {
		return
	}
	if len(n.required) > 0 && t.Nodes < n.nodes && n.nodes == n.maxNodes {
		n.maxNodes = 0 // a guess as well, of slurmctld 24.11
	}
	if t.Nodes > 1 || n.maxNodes > 0 && n.maxNodes != n.tasks {
		n.wanted = n.nodes
	}
	n.nodes = t.Nodes
	if a.tasksPerNode > 0 {
		n.nodes = max(n.nodes, share(a.tasks, a.tasksPerNode))
	}
}

// forgetGuess forgets the most nodes of a job that names some where that may be slurmctld's
// guess: the number of nodes that it names, which -N may have said too.
func (n *need) forgetGuess() {
	if named := uint64(len(n.required)); named > 0 && n.maxNodes == named && n.tasks > named && n.tasksPerNode == 0 {
		n.maxNodes = 0
	}
}

func (n *need) readGRES(a *ask) {
	n.dealtGRES = a.maxNodes != 1 && (strings.Contains(a.tresPerJob, "gres") || strings.Contains(a.tresPerTask, "gres"))
	addGRES(&n.gresPerNode, a.tresPerNode)
	addGRES(&n.gresPerNode, a.tresPerSocket) // of one socket at least
	addGRES(&n.gresPerJob, a.tresPerJob)
	addGRES(&n.gresPerTask, a.tresPerTask)
	addGRES(&n.memoryPerGRES, a.memoryPerTRES)
	// The sum that slurmctld has made, where GRES are accounted.
	if strings.Contains(a.tresRequested, "gres/") {
		if t, err := slurm.ParseTRES(a.tresRequested); err == nil {
			for name, count := range t.GRES {
				raise(&n.gresPerJob, name, count)
			}
		}
	}
}

// addGRES adds the generic resources of text such as "gres/gpu:h100:2,gres/shard=1",
// each kind by its name and by its name and type.
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
		raise(to, name, count)
	}
}

func raise(to *map[string]uint64, name string, count uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	(*to)[name] = max((*to)[name], count)
}

// perNode writes to v what each of so many nodes of the shape must give; the shape is nil
// where nothing is known of it. Cores are not shared among jobs, nor the resources of a
// task among nodes.
func (d *dims) perNode(n *need, v amounts, s *shape, nodes uint64) {
	tasks := share(n.tasks, nodes)
	v[amountCPUs] = max(n.minCPUs, share(n.cpus, nodes), times(tasks, n.cpusPerTask))
	if s != nil && d.wholeCores {
		v[amountCPUs] = s.wholeCores(v[amountCPUs], n.threadsPerCore)
	}
	var memory uint64
	for i, name := range d.names {
		v[amountGRES+i] = max(n.gresPerNode[name], share(n.gresPerJob[name], nodes), times(n.gresPerTask[name], max(tasks, 1)))
		memory = plus(memory, times(n.memoryPerGRES[name], v[amountGRES+i]))
	}
	v[amountMemory] = max(n.memoryPerNode, times(n.perCPU, v[amountCPUs]), memory)
	if n.memoryPerGRES == nil && n.wholeMemory && d.wholeMemory && s != nil && s.room[amountMemory] != math.MaxUint64 {
		v[amountMemory] = s.room[amountMemory]
	}
}

// scatters reports whether slurmctld puts the tasks on whatever nodes of the shape have
// room, as many on each as fit: those of a job that says nothing of its nodes but what a
// task needs. most is on how many nodes it may be at most.
func (d *dims) scatters(n *need, s *shape, most uint64) bool {
	return n.tasks > 1 && most >= n.tasks && n.nodes < n.tasks && n.tasksPerNode == 0 && !n.whole && !n.alike &&
		n.memoryPerNode == 0 && n.minCPUs <= n.cpusPerTask && n.cpus <= times(n.tasks, n.cpusPerTask) &&
		len(n.gresPerNode)+len(n.gresPerJob)+len(n.gresPerTask)+len(n.memoryPerGRES) == 0 &&
		len(n.required) == 0 && !(n.wholeMemory && d.wholeMemory) && !(d.wholeCores && s.threads > 1)
}

// perTask writes to v what a node must give for each task.
func (n *need) perTask(v amounts) {
	clear(v)
	v[amountCPUs], v[amountMemory] = n.cpusPerTask, times(n.perCPU, n.cpusPerTask)
}

// most is the largest number of nodes that the job could be spread over.
func (n *need) most(limit uint64) uint64 {
	spread := n.cpus
	if n.tasks > 0 {
		spread = n.tasks
	}
	if n.dealtGRES {
		for _, count := range n.gresPerJob {
			spread = max(spread, count) // one of each node, if need be
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

// meets reports whether nodes of the shape could be the job's, whatever their size.
func (n *need) meets(s *shape) bool {
	return n.readable && s.tmpDisk >= n.tmpDisk && n.constraint.met(s)
}

func (n *need) excludes(node string) bool {
	return n.excluded[node] || (len(n.required) > 0 && slices.Contains(n.required, node))
}

// mostNodes is how many nodes the job may have; wantedNodes how many it would like: as
// many as may be where it tells a range.
func (n *need) mostNodes(limit uint64) uint64 {
	most := uint64(math.MaxUint32)
	for _, l := range [...]uint64{n.maxNodes, limit} {
		if l > 0 {
			most = min(most, l)
		}
	}
	return most
}

func (n *need) wantedNodes(limit uint64) uint64 {
	return max(n.nodes, min(n.wanted, n.mostNodes(limit)))
}
