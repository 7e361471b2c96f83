package clusters

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Object implements metricsapi.Directory.
func (r *Registry) Object(of metricsapi.Resource, namespace, name string) (metricsapi.Object, bool) {
	s := r.state.Load()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	rec, ok := s.metricObjects[of.Resource][key]
	if !ok {
		return metricsapi.Object{}, false
	}
	return s.object(key, rec), true
}

// Objects implements metricsapi.Directory.
func (r *Registry) Objects(
	of metricsapi.Resource, namespace string, matching labels.Selector,
) []metricsapi.Object {
	s := r.state.Load()
	return s.objects(of, func(key types.NamespacedName, rec metricObject) bool {
		return key.Namespace == namespace && matching.Matches(rec.labels)
	})
}

// NodeSets implements metricsapi.NodeSetLister.
func (r *Registry) NodeSets() []metricsapi.Object {
	return r.state.Load().objects(metricsapi.NodeSets(), func(types.NamespacedName, metricObject) bool { return true })
}

// objects returns the objects of the resource that want accepts, sorted by namespace and name.
func (s *state) objects(
	of metricsapi.Resource, want func(types.NamespacedName, metricObject) bool,
) []metricsapi.Object {
	var out []metricsapi.Object
	for key, rec := range s.metricObjects[of.Resource] {
		if want(key, rec) {
			out = append(out, s.object(key, rec))
		}
	}
	slices.SortFunc(out, func(a, b metricsapi.Object) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (s *state) object(key types.NamespacedName, rec metricObject) metricsapi.Object {
	o := metricsapi.Object{Namespace: key.Namespace, Name: key.Name, Pool: rec.pool, ScaleBounds: rec.scaleBounds}
	for _, k := range rec.clusters {
		if c := s.clusters[k]; c != nil {
			o.Clusters = append(o.Clusters, c)
			continue
		}
		o.Clusters = append(o.Clusters, missingCluster{k})
	}
	return o
}

// missingCluster is a cluster that an object refers to and that does not exist.
type missingCluster struct{ key refs.ClusterKey }

// Name implements metricsapi.Cluster.
func (a missingCluster) Name() string { return a.key.Name }

// String implements metricsapi.Cluster.
func (a missingCluster) String() string { return a.key.String() }

// Reading implements metricsapi.Cluster.
func (a missingCluster) Reading() (*metricsapi.Reading, error) {
	return nil, fmt.Errorf("no %s of this name exists, or this adapter does not read it", a.key.Kind)
}
