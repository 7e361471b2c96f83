package clusters

import (
	"errors"
	"slices"
	"sync"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ObjectSettings are settings of a cluster's object. They must not be modified.
type Origin struct {
	Annotations map[string]string
	// Configured is true if slurm.conf is rendered from the object. ExtraConf is then the text
	// that users add to it. For other clusters slurm.conf is not known.
	Configured bool
	ExtraConf  string
}

func originOfController(c *v1beta1.Controller) Origin {
	return Origin{Annotations: c.Annotations, Configured: !c.Spec.External, ExtraConf: c.Spec.ExtraConf}
}

// Listing describes a cluster that is being read.
type Shown struct {
	// Key identifies its object. For a fixed cluster that represents no object, the namespace
	// is empty.
	Key     access.Key
	Origin  Origin
	Cluster metricsapi.Cluster
}

// List returns all clusters, sorted by namespace, name and kind. It returns an error until the
// objects have been listed. It does not block.
func (r *Registry) Shown() ([]Shown, error) {
	s := r.state.Load()
	if s.targets == nil {
		return nil, errNotListed
	}
	var out []Shown
	for k, c := range s.running {
		out = append(out, Shown{Key: k, Origin: s.origins[k], Cluster: c})
	}
	slices.SortFunc(out, func(a, b Shown) int { return a.Key.Compare(b.Key) })
	return out, nil
}

var errNotListed = errors.New("the objects in Kubernetes have not been listed yet")

// Changed returns a channel that is closed when there is a newer reading of any cluster, or
// when clusters were added or removed.
func (r *Registry) Changed() <-chan struct{} { return r.bell.next() }

// notifier wakes all goroutines that wait for its next notification.
type bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

func newBell() *bell { return &bell{rung: make(chan struct{})} }

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}
