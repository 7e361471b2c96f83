package clusters

import (
	"errors"
	"slices"
	"sync"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// ObjectSettings are settings of a cluster's object. They must not be modified.
type ObjectSettings struct {
	Annotations map[string]string
	// Configured is true if slurm.conf is rendered from the object. ExtraConf is then the text
	// that users add to it. For other clusters slurm.conf is not known.
	Configured bool
	ExtraConf  string
}

func settingsOfController(c *v1beta1.Controller) ObjectSettings {
	return ObjectSettings{Annotations: c.Annotations, Configured: !c.Spec.External, ExtraConf: c.Spec.ExtraConf}
}

// Listing describes a cluster that is being read.
type Listing struct {
	// Key identifies its object. For a fixed cluster that represents no object, the namespace
	// is empty.
	Key      refs.ClusterKey
	Settings ObjectSettings
	Cluster  metricsapi.Cluster
	// Client returns the client of the connection to the cluster, nil without one.
	Client func() *slurmclient.Client
}

// List returns all clusters, sorted by namespace, name and kind. It returns an error until the
// objects have been listed. It does not block.
func (r *Registry) List() ([]Listing, error) {
	s := r.state.Load()
	if s.targets == nil {
		return nil, errNotListed
	}
	var out []Listing
	for k, c := range s.clusters {
		out = append(out, Listing{Key: k, Settings: s.settings[k], Cluster: c, Client: c.client.Load})
	}
	slices.SortFunc(out, func(a, b Listing) int { return a.Key.Compare(b.Key) })
	return out, nil
}

var errNotListed = errors.New("the objects in Kubernetes have not been listed yet")

// Changed returns a channel that is closed when there is a newer reading of any cluster, or
// when clusters were added or removed.
func (r *Registry) Changed() <-chan struct{} { return r.notifier.wait() }

// notifier wakes all goroutines that wait for its next notification.
type notifier struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newNotifier() *notifier { return &notifier{changed: make(chan struct{})} }

func (b *notifier) notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *notifier) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}
