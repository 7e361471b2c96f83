package demand

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
	freeState freeState
	// room and empty are the initial state of the simulation.
	room  amounts
	empty bool
	// usedCPUs are the CPUs of running jobs, by partition index.
	usedCPUs map[int]uint64
}

// isReady reports whether the node can start a job now.
func (s simNode) isReady() bool { return s.newRank == 0 && s.freeState != freeBooting }

// addSimNodes lists the nodes of the simulation in the order of slurmctld: by name, with numeric
// suffixes compared as numbers.
func (h *simulation) addSimNodes() {
	var names []string
	for _, i := range h.nodeIndexes {
		m := &h.nodes[i]
		names = append(names, m.node.Name)
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
func (h *simulation) simNodeOf(m *nodeInfo) (simNode, bool) {
	s := simNode{name: m.node.Name, shape: m.shape, room: make(amounts, len(h.shapes[m.shape].room))}
	var ok bool
	s.empty, s.freeState, ok = h.readRoom(m, s.room)
	s.usedCPUs = h.usedCPUs(m)
	return s, ok
}

// addNewWorkers adds the new workers that the pool can have, and returns their names. They have the
// lowest ordinals that no existing worker has.
func (h *simulation) addNewWorkers(at int) (names []string) {
	p := &h.planner.pools[at]
	taken := map[uint64]bool{}
	for _, i := range h.nodeIndexes {
		if m := &h.nodes[i]; h.shapes[m.shape].pool == at && m.use != useOff {
			if ordinal, ok := p.spec.ordinalOf(m.node.Name); ok {
				taken[ordinal] = true
			}
		}
	}
	prefix := cmp.Or(p.spec.WorkerPrefix, p.spec.Name+"-")
	shape := p.shapes[0]
	for ordinal, fresh := uint64(0), uint64(1); fresh <= h.maxNew[at]; ordinal++ {
		if taken[ordinal] {
			continue
		}
		name := prefix + strconv.FormatUint(ordinal, 10)
		names = append(names, name)
		h.simNodes = append(h.simNodes,
			simNode{name: name, shape: shape, newRank: fresh, room: h.shapes[shape].room, empty: true})
		fresh++
	}
	return names
}

// compareNodeNames orders names as slurmctld does, with numeric suffixes compared by value.
func compareNodeNames(a, b string) int {
	x, n := splitOrdinal(a)
	y, m := splitOrdinal(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}

// splitOrdinal splits the numeric suffix off a name; -1 for none.
func splitOrdinal(name string) (string, int64) {
	head := strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(head):], 10, 64)
	if err != nil {
		return name, -1
	}
	return head, n
}
