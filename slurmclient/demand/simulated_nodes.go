package demand

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
)

// simNode is a node on which a simulation can start jobs: an existing one with room, or a new
// worker of a pool.
type simNode struct {
	name  string
	shape int
	// position is its position among all nodes: slurmctld prefers adjacent nodes.
	position int
	// newRank is how many workers of its pool must be added for it to exist: 0 for an existing
	// node.
	newRank   uint64
	freeState model.FreeState
	// room and empty are the initial state of the simulation.
	room  model.Amounts
	empty bool
	// UsedCPUs are the CPUs of running jobs, by partition index.
	usedCPUs map[int]uint64
}

// isReady reports whether the node can start a job now.
func (s simNode) isReady() bool {
	return s.newRank == 0 && s.freeState != model.FreeBooting && s.freeState != model.FreeSoon
}

// addSimNodes lists the nodes of the simulation in the order of slurmctld: by name, with numeric
// suffixes compared as numbers.
func (h *simulation) addSimNodes() {
	var names []string
	for _, i := range h.nodeIndexes {
		m := &h.Nodes[i]
		names = append(names, m.Node.Name)
		if s, ok := h.simNodeOf(m); ok {
			h.simNodes = append(h.simNodes, s)
		}
	}
	for _, at := range h.poolIndexes {
		names = append(names, h.addNewWorkers(at)...)
	}
	slices.SortFunc(names, compareNodeNames)
	names = slices.Compact(names)
	for i := range h.simNodes {
		h.simNodes[i].position, _ = slices.BinarySearchFunc(names, h.simNodes[i].name, compareNodeNames)
	}
	slices.SortFunc(h.simNodes, func(a, b simNode) int { return cmp.Compare(a.position, b.position) })
}

// simNodeOf returns the simNode of an existing node, if it has room.
func (h *simulation) simNodeOf(m *model.NodeState) (simNode, bool) {
	s := simNode{name: m.Node.Name, shape: m.Shape, room: make(model.Amounts, len(h.Shapes[m.Shape].Room))}
	var ok bool
	s.empty, s.freeState, ok = h.readRoom(m, s.room)
	s.usedCPUs = h.UsedCPUs(m)
	return s, ok
}

// addNewWorkers adds the new workers that the pool can have, and returns their names. They have the
// lowest ordinals that no existing worker has.
func (h *simulation) addNewWorkers(at int) (names []string) {
	p := &h.planner.Pools[at]
	taken := map[uint64]bool{}
	for _, i := range h.nodeIndexes {
		if m := &h.Nodes[i]; h.Shapes[m.Shape].Pool == at && m.Use != model.UseOff {
			if ordinal, ok := p.Spec.OrdinalOf(m.Node.Name); ok {
				taken[ordinal] = true
			}
		}
	}
	prefix := cmp.Or(p.Spec.WorkerPrefix, p.Spec.Name+"-")
	shape := p.Shapes[0]
	for ordinal, fresh := uint64(0), uint64(1); fresh <= h.maxNew[at]; ordinal++ {
		if taken[ordinal] {
			continue
		}
		name := prefix + strconv.FormatUint(ordinal, 10)
		names = append(names, name)
		h.simNodes = append(h.simNodes,
			simNode{name: name, shape: shape, newRank: fresh, room: h.Shapes[shape].Room, empty: true})
		fresh++
	}
	return names
}

// compareNodeNames orders names as slurmctld does, with numeric suffixes compared by value.
func compareNodeNames(a, b string) int {
	x, n := model.SplitOrdinal(a)
	y, m := model.SplitOrdinal(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}
