package demand

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// seat is a node that a rehearsal may put jobs on: one that is there and has room, or a
// new worker of a pool.
type seat struct {
	name  string
	shape int
	// at is its place among all nodes: slurmctld takes neighbours together.
	at int
	// fresh is how many workers of its pool must come for it to be there: 0 for a node that
	// is there already.
	fresh uint64
	claim claim
	// room and empty are what it offers before the rehearsal.
	room  amounts
	empty bool
	// used is what jobs that run have of its CPUs, by the places of their partitions.
	used map[int]uint64
}

// ready reports whether the node can start a job at this moment.
func (s seat) ready() bool { return s.fresh == 0 && s.claim != claimBooting }

// addSeats lists the seats of the rehearsal in the order in which slurmctld has the
// nodes: by name, numbers in names as numbers.
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

// seatOf is the seat that a node which is there is, if it has room.
func (h *rehearsal) seatOf(m *member) (seat, bool) {
	s := seat{name: m.node.Name, shape: m.shape, room: make(amounts, len(h.shapes[m.shape].room))}
	var ok bool
	s.empty, s.claim, ok = h.readRoom(m, s.room)
	s.used = h.usedCPUs(m)
	return s, ok
}

// addFresh adds the new workers that the pool may have, and returns their names. They come
// in the order of their ordinals, in the place of those that are not there.
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
		h.seats = append(h.seats, seat{name: name, shape: shape, fresh: fresh, room: h.shapes[shape].room, empty: true})
		fresh++
	}
	return names
}

// compareNames orders names as slurmctld does: numbers at their end by value.
func compareNames(a, b string) int {
	x, n := cutNumber(a)
	y, m := cutNumber(b)
	return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m), strings.Compare(a, b))
}

// cutNumber cuts a number off the end of a name; -1 for none.
func cutNumber(name string) (string, int64) {
	head := strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(head):], 10, 64)
	if err != nil {
		return name, -1
	}
	return head, n
}
