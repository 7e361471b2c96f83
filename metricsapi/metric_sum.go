package metricsapi

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// metricSum sums a metric over the clusters of an object.
type metricSum struct {
	value uint64
	// readAt is when the oldest number was read.
	readAt time.Time
	// found is whether anything matched the selector.
	found bool
	// partitions are the names of all partitions of the object, for errors.
	partitions []string
}

var errNotComputed = errors.New("no demand has been computed yet for the NodeSet, which is new or has changed")

// add adds the number of one cluster. It returns an error if the number is unavailable.
func (n *metricSum) add(e Entry, o Object, cluster string, r *Reading, selector labels.Selector) error {
	at := -1
	if o.Pool != "" {
		i, ok := r.poolIndex[o.Pool]
		if !ok {
			return errNotComputed
		}
		at = i
	}
	if e.poolValue != nil {
		// These metrics have no labels, so a selector that requires a label matches nothing.
		if at >= 0 && selector.Matches(labels.Set{}) {
			n.addValue(e, e.poolValue(r.poolNumbers(at)), r)
		}
		return nil
	}
	var within []string
	if at >= 0 {
		within = r.demand.Pools[at].Partitions
		if within == nil {
			within = []string{}
		}
	}
	for _, p := range r.selectPartitions(cluster, within, labels.Everything()).partitions {
		n.partitions = append(n.partitions, p.Name)
	}
	chosen := r.selectPartitions(cluster, within, selector)
	// A cluster without partitions has the value 0. A NodeSet or a selector without partitions
	// refers to partitions that do not exist.
	if len(chosen.partitions) > 0 || selector.Empty() && within == nil {
		n.addValue(e, e.partitionsValue(chosen), r)
	}
	return nil
}

func (n *metricSum) addValue(e Entry, value uint64, r *Reading) {
	if e.takesLargest {
		n.value = max(n.value, value)
	} else {
		n.value += value
	}
	if at := r.ReadAt(); !n.found || at.Before(n.readAt) {
		n.readAt = at
	}
	n.found = true
}
