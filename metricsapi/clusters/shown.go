package clusters

import (
	"errors"
	"slices"
	"sync"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Origin is what the object of a cluster says of it. Nobody writes to it.
type Origin struct {
	Annotations map[string]string
	// Configured is true where slurm.conf is made of the object, and ExtraConf is then
	// what people add to it. Of other clusters slurm.conf is not known.
	Configured bool
	ExtraConf  string
}

func originOfController(c *v1beta1.Controller) Origin {
	return Origin{Annotations: c.Annotations, Configured: !c.Spec.External, ExtraConf: c.Spec.ExtraConf}
}

// Shown is a cluster that is being read.
type Shown struct {
	// Key names its object; that of a fixed cluster which stands for no object has no
	// namespace.
	Key     access.Key
	Origin  Origin
	Cluster metricsapi.Cluster
}

// Shown lists the clusters that there are, sorted by namespace, name and kind. It is an
// error before the objects were listed. It does not block.
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

// Changed returns a channel that is closed when there is a newer reading of any
// cluster, or clusters have come or gone.
func (r *Registry) Changed() <-chan struct{} { return r.bell.next() }

// bell wakes everybody who waits for its next ring.
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
