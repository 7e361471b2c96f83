package tally

import (
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Usage divides an amount into allocated, idle, and other, which is idle on a node that is
// down or drained.
type Usage struct{ Allocated, Idle, Other uint64 }

func (s *Usage) add(total, allocated uint64, usable bool) {
	allocated = min(allocated, total)
	s.Allocated += allocated
	if usable {
		s.Idle += total - allocated
	} else {
		s.Other += total - allocated
	}
}

// Total returns the whole amount.
func (s Usage) Total() uint64 { return s.Allocated + s.Idle + s.Other }

// Nodes counts nodes. FUTURE records count as nodes without resources.
type Nodes struct {
	Total   uint64
	ByWord  map[string]uint64 // by slurm.NodeState.Word
	byState [10]uint64        // by slurm.NodeBase
	ByFlag  [40]uint64        // by the bit of slurm.NodeFlags

	CPUs Usage
	// EffectiveCPUs are the CPUs that jobs may use.
	EffectiveCPUs uint64
	MemoryMiB     Usage
	// AvailableMiB is the memory that jobs may use; freeMiB is the free memory as the
	// operating systems report it.
	AvailableMiB, FreeMiB uint64
	GPUs                  map[string]*Usage // by type
	AllGPUs               Usage
}

func (t *Nodes) add(n *NodeFacts) {
	t.Total++
	if t.ByWord == nil {
		t.ByWord = map[string]uint64{}
	}
	t.ByWord[n.Word]++
	t.byState[n.State.Base]++
	for set := uint64(n.State.Flags); set != 0; set &= set - 1 {
		t.ByFlag[bits.TrailingZeros64(set)]++
	}
	if n.State.Base == slurm.NodeFuture {
		return
	}
	t.CPUs.add(uint64(n.EffectiveCPUs), uint64(n.AllocCPUs), n.Usable)
	t.EffectiveCPUs += uint64(n.EffectiveCPUs)
	t.MemoryMiB.add(n.MemoryMiB, n.AllocMemoryMiB, n.Usable)
	t.AvailableMiB += n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB)
	t.FreeMiB += n.FreeMemoryMiB.Or(0)
	for _, g := range n.GPUs {
		if t.GPUs == nil {
			t.GPUs = map[string]*Usage{}
		}
		valueAt(t.GPUs, g.Kind).add(g.Total, g.Used, n.Usable)
		t.AllGPUs.add(g.Total, g.Used, n.Usable)
	}
}

// InState returns the number of nodes with the base state.
func (t *Nodes) InState(b slurm.NodeBase) uint64 { return t.byState[b] }

// WithFlag returns the number of nodes with the flag, which must be a single one.
func (t *Nodes) WithFlag(f slurm.NodeFlags) uint64 {
	return t.ByFlag[bits.TrailingZeros64(uint64(f))]
}

// GPUCount counts the GPUs of one type in a node; kind is empty for untyped GPUs.
type GPUCount struct {
	Kind        string
	Total, Used uint64
}

// GRESCount counts one generic resource of a node other than its GPUs, such as shard. Kind is its type, or empty.
type GRESCount struct {
	Name, Kind  string
	Total, Used uint64
}

// NodeFacts is a node with values derived once from its record.
type NodeFacts struct {
	*slurm.Node
	Word string
	// Usable is true if a job could use the idle resources.
	Usable bool
	GPUs   []GPUCount
	// OtherGRES is sorted by name and type.
	OtherGRES []GRESCount
}

func factsOf(n *slurm.Node, gres map[string]map[string]uint64) *NodeFacts {
	f := &NodeFacts{Node: n, Word: n.State.Word()}
	unusable := n.State.Any(slurm.NodeDrain|slurm.NodeFail|slurm.NodeInvalidReg) ||
		n.State.Base == slurm.NodeDown || n.State.Base == slurm.NodeError ||
		n.State.Base == slurm.NodeUnknown || n.State.Base == slurm.NodeFuture
	f.Usable = !unusable
	has, used := parseGRES(n.GRES, gres), parseGRES(n.GRESUsed, gres)
	f.GPUs, f.OtherGRES = gpusOf(has, used), otherGRESOf(has, used)
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

func gpusOf(has, used map[string]uint64) []GPUCount {
	var out []GPUCount
	typed := uint64(0)
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if kind, ok := strings.CutPrefix(name, "gpu:"); ok {
			out = append(out, GPUCount{kind, has[name], used[name]})
			typed += has[name]
		}
	}
	if all := has["gpu"]; all > typed {
		out = append(out, GPUCount{"", all - typed, used["gpu"] - min(used["gpu"], sumUsed(out))})
	}
	return out
}

// otherGRESOf returns the generic resources that are no GPUs. Slurm counts one with types also without its type.
func otherGRESOf(has, used map[string]uint64) []GRESCount {
	var out []GRESCount
	for _, text := range slices.Sorted(maps.Keys(has)) {
		name, kind, typed := strings.Cut(text, ":")
		if name == "gpu" {
			continue
		}
		c := GRESCount{name, kind, has[text], used[text]}
		if !typed { // the resources without a type
			for other, n := range has {
				if strings.HasPrefix(other, name+":") {
					c.Total, c.Used = c.Total-min(c.Total, n), c.Used-min(c.Used, used[other])
				}
			}
			if c.Total == 0 && has[text] > 0 {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func sumUsed(list []GPUCount) (n uint64) {
	for _, g := range list {
		n += g.Used
	}
	return n
}

// NodeTotals are the sums over all nodes.
type NodeTotals struct {
	Nodes       []*NodeFacts // sorted by name
	All         Nodes
	ByPartition map[string]*Nodes
	// ByReservation has the active reservations with nodes.
	ByReservation map[string]*Nodes
}

// TotalNodes returns the sums over the nodes, which must be sorted by name.
func TotalNodes(nodes []*slurm.Node) *NodeTotals {
	t := &NodeTotals{ByPartition: map[string]*Nodes{}, ByReservation: map[string]*Nodes{}}
	gres := map[string]map[string]uint64{}
	for _, n := range nodes {
		f := factsOf(n, gres)
		t.Nodes = append(t.Nodes, f)
		t.All.add(f)
		for _, p := range n.Partitions {
			valueAt(t.ByPartition, p).add(f)
		}
		if n.Reservation != "" {
			valueAt(t.ByReservation, n.Reservation).add(f)
		}
	}
	return t
}
