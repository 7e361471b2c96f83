package exporter

import (
	"math/bits"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// usageSplit divides an amount into allocated, idle, and other, which is idle on a node that is
// down or drained.
type usageSplit struct{ allocated, idle, other uint64 }

func (s *usageSplit) add(total, allocated uint64, usable bool) {
	allocated = min(allocated, total)
	s.allocated += allocated
	if usable {
		s.idle += total - allocated
	} else {
		s.other += total - allocated
	}
}

func (s usageSplit) total() uint64 { return s.allocated + s.idle + s.other }

// nodeTally counts nodes. FUTURE records count as nodes without resources.
type nodeTally struct {
	total   uint64
	byWord  map[string]uint64 // by slurm.NodeState.Word
	byState [10]uint64        // by slurm.NodeBase
	byFlag  [40]uint64        // by the bit of slurm.NodeFlags

	cpus usageSplit
	// effectiveCPUs are the CPUs that jobs may use.
	effectiveCPUs uint64
	memoryMiB     usageSplit
	// availableMiB is the memory that jobs may use; freeMiB is the free memory as the
	// operating systems report it.
	availableMiB, freeMiB uint64
	gpus                  map[string]*usageSplit // by type
	allGPUs               usageSplit
}

func (t *nodeTally) add(n *nodeFacts) {
	t.total++
	if t.byWord == nil {
		t.byWord = map[string]uint64{}
	}
	t.byWord[n.word]++
	t.byState[n.State.Base]++
	for set := uint64(n.State.Flags); set != 0; set &= set - 1 {
		t.byFlag[bits.TrailingZeros64(set)]++
	}
	if n.State.Base == slurm.NodeFuture {
		return
	}
	t.cpus.add(uint64(n.EffectiveCPUs), uint64(n.AllocCPUs), n.usable)
	t.effectiveCPUs += uint64(n.EffectiveCPUs)
	t.memoryMiB.add(n.MemoryMiB, n.AllocMemoryMiB, n.usable)
	t.availableMiB += n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB)
	t.freeMiB += n.FreeMemoryMiB.Or(0)
	for _, g := range n.gpus {
		if t.gpus == nil {
			t.gpus = map[string]*usageSplit{}
		}
		valueAt(t.gpus, g.kind).add(g.total, g.used, n.usable)
		t.allGPUs.add(g.total, g.used, n.usable)
	}
}

func (t *nodeTally) inState(b slurm.NodeBase) uint64 { return t.byState[b] }

func (t *nodeTally) withFlag(f slurm.NodeFlags) uint64 {
	return t.byFlag[bits.TrailingZeros64(uint64(f))]
}

// gpuCount counts the GPUs of one type in a node; kind is empty for untyped GPUs.
type gpuCount struct {
	kind        string
	total, used uint64
}

// nodeFacts is a node with values derived once from its record.
type nodeFacts struct {
	*slurm.Node
	word string
	// usable is true if a job could use the idle resources.
	usable bool
	gpus   []gpuCount
}

func factsOf(n *slurm.Node, gres map[string]map[string]uint64) *nodeFacts {
	f := &nodeFacts{Node: n, word: n.State.Word()}
	unusable := n.State.Any(slurm.NodeDrain|slurm.NodeFail|slurm.NodeInvalidReg) ||
		n.State.Base == slurm.NodeDown || n.State.Base == slurm.NodeError ||
		n.State.Base == slurm.NodeUnknown || n.State.Base == slurm.NodeFuture
	f.usable = !unusable
	has, used := parseGRES(n.GRES, gres), parseGRES(n.GRESUsed, gres)
	f.gpus = gpusOf(has, used)
	return f
}

func parseGRES(text string, cache map[string]map[string]uint64) map[string]uint64 {
	m, ok := cache[text]
	if !ok {
		m, _ = slurm.ParseGRES(text) // items that cannot be parsed are omitted
		cache[text] = m
	}
	return m
}

func gpusOf(has, used map[string]uint64) []gpuCount {
	var out []gpuCount
	typed := uint64(0)
	for _, name := range sortedKeys(has) {
		if kind, ok := strings.CutPrefix(name, "gpu:"); ok {
			out = append(out, gpuCount{kind, has[name], used[name]})
			typed += has[name]
		}
	}
	if all := has["gpu"]; all > typed {
		out = append(out, gpuCount{"", all - typed, used["gpu"] - min(used["gpu"], sumUsed(out))})
	}
	return out
}

func sumUsed(list []gpuCount) (n uint64) {
	for _, g := range list {
		n += g.used
	}
	return n
}

// nodeTotals are the sums over all nodes.
type nodeTotals struct {
	nodes       []*nodeFacts // sorted by name
	all         nodeTally
	byPartition map[string]*nodeTally
}

func totalNodes(nodes []*slurm.Node) *nodeTotals {
	t := &nodeTotals{byPartition: map[string]*nodeTally{}}
	gres := map[string]map[string]uint64{}
	for _, n := range nodes {
		f := factsOf(n, gres)
		t.nodes = append(t.nodes, f)
		t.all.add(f)
		for _, p := range n.Partitions {
			valueAt(t.byPartition, p).add(f)
		}
	}
	return t
}
