package records

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Merger collects the records of a new list and keeps the old objects of unchanged records.
type Merger[T any, K cmp.Ordered] struct {
	keyOf func(*T) K
	same  func(a, b *T) bool
	old   []*T
	items []*T
}

// NewJobMerger returns a Merger of jobs; old is sorted by id.
func NewJobMerger(old []*slurm.Job) *Merger[slurm.Job, uint32] {
	return newMerger(old, jobKey, (*slurm.Job).Same)
}

// NewNodeMerger returns a Merger of nodes; old is sorted by name.
func NewNodeMerger(old []*slurm.Node) *Merger[slurm.Node, string] {
	return newMerger(old, nodeKey, (*slurm.Node).Same)
}

func newMerger[T any, K cmp.Ordered](old []*T, keyOf func(*T) K, same func(a, b *T) bool) *Merger[T, K] {
	return &Merger[T, K]{keyOf: keyOf, same: same, old: old, items: make([]*T, 0, len(old)+16)}
}

// AddCopy adds a record that is only valid during the call. It never fails; the result suits callers
// that expect an error.
func (m *Merger[T, K]) AddCopy(t *T) error {
	if !m.addUnchanged(t) {
		m.items = append(m.items, Copy(t))
	}
	return nil
}

// Add adds a record, which belongs to the Merger from now on.
func (m *Merger[T, K]) Add(t *T) {
	if !m.addUnchanged(t) {
		m.items = append(m.items, t)
	}
}

// Keep adds an object of the old list without comparing it.
func (m *Merger[T, K]) Keep(t *T) { m.items = append(m.items, t) }

// addUnchanged adds the old object if the record equals it, and reports whether it does.
func (m *Merger[T, K]) addUnchanged(t *T) bool {
	old := find(m.old, m.keyOf(t), m.keyOf)
	if old == nil || !m.same(old, t) {
		return false
	}
	m.items = append(m.items, old)
	return true
}

// Merge returns the records sorted by key. changed is false if the old list has the same records. Of several records
// with the same key, the last one counts. The Merger must not be used afterwards.
func (m *Merger[T, K]) Merge() (items []*T, changed bool) {
	byKey := func(a, b *T) int { return cmp.Compare(m.keyOf(a), m.keyOf(b)) }
	if !slices.IsSortedFunc(m.items, byKey) {
		slices.SortStableFunc(m.items, byKey)
	}
	items = m.items[:0]
	for i, t := range m.items {
		if i+1 < len(m.items) && m.keyOf(m.items[i+1]) == m.keyOf(t) {
			continue
		}
		items = append(items, t)
	}
	return items, !slices.Equal(items, m.old)
}
