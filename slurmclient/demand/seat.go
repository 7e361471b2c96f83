package demand

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// simNode is a node on which a simulation can start jobs: an existing one with room, or a new
// worker of a pool.
type seat struct {
	name  string
	shape int
	// position is its position among all nodes: slurmctld prefers adjacent nodes.
	at int
	// newRank is how many workers of its pool must be added for it to exist: 0 for an existing
	// node.
	fresh uint64
	claim claim
	// room and empty are the initial state of the simulation.
	room  amounts
	empty bool
	// usedCPUs are the CPUs of running jobs, by partition index.
	used map[int]uint64
}

// isReady reports whether the node can start a job now.
func (s seat) ready() bool { return s.fresh == 0 && s.claim != claimBooting }

// addSimNodes lists the nodes of the simulation in the order of slurmctld: by name, with numeric
// suffixes compared as numbers.
func (h *rehearsal) addSeats() {
	var names []string
	for _, i := range h.members {
		m := &h.nodes[i]
		names = append(names, m.node.Name)
		if s, ok := h.seatOf(m); ok {
			h.seats = append(h.seats, s)
		}
	}
	for _, at := range h.pools {
		names = append(names, h.addFresh(at)...)
	}
	slices.SortFunc(names, compareNames)
	names = slices.Compact(names)
	for i := range h.seats {
		h.seats[i].at, _ = slices.BinarySearchFunc(names, h.seats[i].name, compareNames)
	}
	slices.SortFunc(h.seats, func(a, b seat) int { return cmp.Compare(a.at, b.at) })
}

// simNodeOf returns the simNode of an existing node, if it has room.
func (h *rehearsal) seatOf(m *member) (seat, bool) {
	s := seat{name: m.node.Name, shape: m.shape, room: make(amounts, len(h.shapes[m.shape].room))}
	var ok bool
	s.empty, s.claim, ok = h.readRoom(m, s.room)
	s.used = h.usedCPUs(m)
	return s, ok
}

// addNewWorkers adds the new workers that the pool can have, and returns their names. They have the
// lowest ordinals that no existing worker has.
func (h *rehearsal) addFresh(at int) (names []string) {
	p := &h.plan.pools[at]
	taken := map[uint64]bool{}
	for _, i := range h.members {
		if m := &h.nodes[i]; h.shapes[m.shape].pool == at && m.use != useOff {
			if ordinal, ok := p.offer.ordinal(m.node.Name); ok {
				taken[ordinal] = true
			}
		}
	}
	prefix := cmp.Or(p.offer.Workers, p.offer.Name+"-")
	shape := p.shapes[0]
	for ordinal, fresh := uint64(0), uint64(1); fresh <= h.most[at]; ordinal++ {
		if taken[ordinal] {
			continue
		}
		name := prefix + strconv.FormatUint(ordinal, 10)
		names = append(names, name)
		h.seats = append(h.seats,
			seat{name: name, shape: shape, fresh: fresh, room: h.shapes[shape].room, empty: true})
		fresh++
	}
	return names
}

// compareNodeNames orders names as slurmctld does, with numeric suffixes compared by value.
func compareNames(a, b string) int {
	x, n := cutNumber(a)
	y, m := cutNumber(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}

// splitOrdinal splits the numeric suffix off a name; -1 for none.
func cutNumber(name string) (string, int64) {
	head := strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(head):], 10, 64)
	if err != nil {
		return name, -1
	}
	return head, n
}
