package model

import (
	"iter"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// The bounds of the node lists of pending jobs in one Compute. Any user can submit jobs that each exclude nearly all nodes.
const (
	// maxNamesRead bounds the time: how many names all distinct lists have together.
	maxNamesRead = 8 << 20
	// maxDistinctNames and maxSetBytes bound the memory of the names and of the sets. Slurm has at most some 65,000 nodes.
	maxDistinctNames = 1 << 18
	maxSetBytes      = 64 << 20
	// maxRequired bounds the lists of required nodes, which are kept as lists.
	maxRequired = 1 << 20
)

// NodeNames expands the node lists of jobs, each distinct text once.
type NodeNames struct {
	ids   map[string]int32
	names []string // by ID
	sets  map[string]*NameSet
	lists map[string][]string
	// The rest of the bounds.
	namesLeft, bytesLeft, requiredLeft int
}

// NewNodeNames returns NodeNames without names.
func NewNodeNames() *NodeNames {
	return &NodeNames{ids: map[string]int32{}, sets: map[string]*NameSet{}, lists: map[string][]string{},
		namesLeft: maxNamesRead, bytesLeft: maxSetBytes, requiredLeft: maxRequired}
}

// NameSet is a set of node names: bits by ID, or the IDs if they take less. nil is the empty set.
type NameSet struct {
	of   *NodeNames
	bits []uint64
	few  []int32 // sorted
}

// Has reports whether the set contains a name.
func (s *NameSet) Has(name string) bool {
	if s == nil {
		return false
	}
	id, known := s.of.ids[name]
	return known && s.hasID(id)
}

// CountOf returns how many of the IDs are in the set.
func (s *NameSet) CountOf(ids []int32) (count uint64) {
	if s == nil {
		return 0
	}
	for _, id := range ids {
		if s.hasID(id) {
			count++
		}
	}
	return count
}

func (s *NameSet) hasID(id int32) bool {
	if s.bits == nil {
		_, found := slices.BinarySearch(s.few, id)
		return found
	}
	word := int(id / 64)
	return word < len(s.bits) && s.bits[word]>>(id%64)&1 == 1
}

// Union adds all names of the sets to out.
func (n *NodeNames) Union(out map[string]bool, sets iter.Seq[*NameSet]) {
	union := make([]uint64, len(n.names)/64+1)
	for s := range sets {
		if s == nil {
			continue
		}
		for _, id := range s.few {
			union[id/64] |= 1 << (id % 64)
		}
		for word, bits := range s.bits {
			union[word] |= bits
		}
	}
	for id, name := range n.names {
		if union[id/64]>>(id%64)&1 == 1 {
			out[name] = true
		}
	}
}

// WorkersByPool returns, by the index of the pool, the IDs of the names that belong to workers below the pool's maximum.
func (n *NodeNames) WorkersByPool(pools []PoolState) [][]int32 {
	byPrefix := map[string][]int{}
	for at := range pools {
		if pools[at].Spec.Max > 0 {
			byPrefix[pools[at].Spec.WorkerPrefix] = append(byPrefix[pools[at].Spec.WorkerPrefix], at)
		}
	}
	out := make([][]int32, len(pools))
	for id, name := range n.names {
		for cut := len(name); cut > 0 && (cut == len(name) || isDigit(name[cut])); cut-- {
			for _, at := range byPrefix[name[:cut]] {
				if ordinal, ok := pools[at].Spec.OrdinalOf(name); ok && ordinal < pools[at].Spec.Max {
					out[at] = append(out[at], int32(id)) //nolint:gosec // below maxDistinctNames
				}
			}
		}
	}
	return out
}

// readSet returns the names of a list. ok is false if they exceed the bounds. A malformed list has no names.
func (n *NodeNames) readSet(list string) (set *NameSet, ok bool) {
	if list == "" {
		return nil, true
	}
	if set, known := n.sets[list]; known {
		return set, set != nil
	}
	n.sets[list] = nil
	ids, ok := n.readIDs(list)
	if !ok {
		return nil, false
	}
	set = &NameSet{of: n, few: ids}
	if words := len(n.names)/64 + 1; 4*len(ids) > 8*words {
		set.few, set.bits = nil, make([]uint64, words)
		for _, id := range ids {
			set.bits[id/64] |= 1 << (id % 64)
		}
	}
	if n.bytesLeft -= 4*len(set.few) + 8*len(set.bits); n.bytesLeft < 0 {
		return nil, false
	}
	n.sets[list] = set
	return set, true
}

// readList returns the distinct names of a list, sorted. ok is false if they exceed the bounds. A malformed list has no names.
func (n *NodeNames) readList(list string) (names []string, ok bool) {
	if list == "" {
		return nil, true
	}
	if names, known := n.lists[list]; known {
		return names, names != nil
	}
	n.lists[list] = nil
	ids, ok := n.readIDs(list)
	if n.requiredLeft -= len(ids); !ok || n.requiredLeft < 0 {
		return nil, false
	}
	names = make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, n.names[id])
	}
	slices.Sort(names)
	n.lists[list] = names
	return names, true
}

// readIDs returns the distinct IDs of the names of a list, sorted. ok is false if they exceed the bounds.
func (n *NodeNames) readIDs(list string) (ids []int32, ok bool) {
	count, err := hostlist.Count(list)
	if err != nil {
		return nil, true
	}
	if n.namesLeft -= count; n.namesLeft < 0 {
		n.namesLeft = 0
		return nil, false
	}
	names, _ := hostlist.Bytes(list)
	ids = make([]int32, 0, min(count, maxDistinctNames))
	for name := range names {
		id, known := n.ids[string(name)]
		if !known {
			if len(n.names) == maxDistinctNames {
				return nil, false
			}
			id = int32(len(n.names)) //nolint:gosec // below maxDistinctNames
			n.names = append(n.names, string(name))
			n.ids[n.names[id]] = id
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), true
}
