package view

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// resource describes a resource of the API: the Slurm records behind it and their conversion to
// Kubernetes objects.
type resource[T any] struct {
	kind, plural, singular, short string
	// read returns the records of a snapshot and the state of their poll.
	read func(*slurmclient.Snapshot) ([]*T, slurmclient.Poll)
	// key returns the last part of an object's name. withKey returns a record that has only the
	// key. compare orders records by their keys.
	key     func(*T) string
	withKey func(key string) *T
	compare func(a, b *T) int
	same    func(a, b *T) bool
	// fingerprint returns the same number for records that are the same, on every replica.
	fingerprint func(*T) uint64
	// isPrivate reports whether PrivateData covers these records. owner returns the Slurm user
	// of a record. It is nil for records without users, which are then hidden from everyone.
	isPrivate func(PrivateData) bool
	owner     func(usersByAssociation map[uint32]string, t *T) string
	// attributes are the values that selectors can match.
	attributes map[attribute]attributeValues[T]
	// fields are the field selectors in addition to those of metadata.
	fields map[string]attribute

	newObject func(placement, *T) runtime.Object
	// newList returns a list of records, and newEmpty an empty object.
	newList  func([]match[T], metav1.ListMeta, version) runtime.Object
	newEmpty func() runtime.Object
	table    table
}

// attribute is a property that selectors can match.
type attribute string

// attributeValues calls yield with each value of an attribute until yield returns false.
type attributeValues[T any] func(h ClusterRef, t *T, yield func(string) bool)

// sortedRecords returns the records in order, without modifying items.
func (n *resource[T]) sortedRecords(items []*T) []*T {
	if slices.IsSortedFunc(items, n.compare) {
		return items
	}
	return slices.SortedFunc(slices.Values(items), n.compare)
}

// isOwnedBy reports whether a record of a cluster belongs to a Slurm user.
func (n *resource[T]) isOwnedBy(p *clusterRecords[T], t *T, user string) bool {
	return n.owner != nil && user != "" && n.owner(p.usersByAssociation, t) == user
}

// clusterValues yields the name of the cluster's object.
func clusterValues[T any](h ClusterRef, _ *T, yield func(string) bool) { yield(h.Name) }

// textValues returns an attribute that yields a field unless it is empty.
func textValues[T any](field func(*T) string) attributeValues[T] {
	return func(_ ClusterRef, t *T, yield func(string) bool) {
		if v := field(t); v != "" {
			yield(v)
		}
	}
}

func yieldAll(list []string, yield func(string) bool) {
	for _, v := range list {
		if !yield(v) {
			return
		}
	}
}

// yieldList yields the non-empty items of a comma-separated list.
func yieldList(list string, yield func(string) bool) {
	for v := range strings.SplitSeq(list, ",") {
		if v != "" && !yield(v) {
			return
		}
	}
}
