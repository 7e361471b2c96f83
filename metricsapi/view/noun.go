package view

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// noun is one kind of record, and how it becomes one of Kubernetes' objects.
type noun[T any] struct {
	kind, resource, singular, short string
	// read returns the records of a snapshot and how reading them stands.
	read func(*slurmclient.Snapshot) ([]*T, slurmclient.Poll)
	// key is what the name of an object ends with, blank a record that has the key and
	// nothing else, and compare the order of records, which keys alone decide.
	key     func(*T) string
	blank   func(key string) *T
	compare func(a, b *T) int
	same    func(a, b *T) bool
	// private tells whether the noun is among what is private; owner whom a record is
	// about, nil where it is about nobody: it is then kept from everyone.
	private func(Private) bool
	owner   func(*T) string
	// attributes are what selectors may ask for.
	attributes map[attribute]values[T]
	// fields are the field selectors beside those of metadata.
	fields map[string]attribute

	object func(setting, *T) runtime.Object
	// list makes the list of records that were found, empty the object with nothing in it.
	list  func([]hit[T], metav1.ListMeta, uint64) runtime.Object
	empty func() runtime.Object
	table table
}

// attribute is what a selector asks for.
type attribute string

// values calls yield with each value that the record has of an attribute, until yield
// returns false.
type values[T any] func(h Home, t *T, yield func(string) bool)

// sorted returns the records in the noun's order. They are not written to.
func (n *noun[T]) sorted(items []*T) []*T {
	if slices.IsSortedFunc(items, n.compare) {
		return items
	}
	return slices.SortedFunc(slices.Values(items), n.compare)
}

// mayBeSeen reports whether a user of Slurm may see a private record.
func (n *noun[T]) mayBeSeen(t *T, user string) bool {
	return n.owner != nil && user != "" && n.owner(t) == user
}
