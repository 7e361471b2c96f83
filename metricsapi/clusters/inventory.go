package clusters

import (
	"cmp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Objects are the observed Kubernetes objects. They must not be modified.
type Objects struct {
	NodeSets    []*v1beta1.NodeSet
	Controllers []*v1beta1.Controller
	Clusters    []*v1beta1.Cluster
	RestApis    []*v1beta1.RestApi
	HPAs        []*autoscalingv2.HorizontalPodAutoscaler
	Namespaces  []*metav1.PartialObjectMetadata
}

// FixedCluster is a configured Slurm cluster that replaces discovery.
type FixedCluster struct {
	// Namespace and Name identify the Cluster or Controller that it represents; NodeSets that
	// refer to that object belong to it. If both are empty, every NodeSet belongs to it, every
	// namespace has its metrics, and no Cluster or Controller has metrics.
	Namespace, Name string
}

// fixedClusterName is the name of a fixed cluster that represents no object.
const fixedClusterName = "slurm"

// key returns the key of the fixed cluster.
func (f *FixedCluster) key() refs.ClusterKey {
	return refs.ClusterKey{Kind: v1beta1.KindCluster, Namespace: f.Namespace, Name: cmp.Or(f.Name, fixedClusterName)}
}

// inventory is the desired state: the clusters to read, their pools, and the objects that have
// metrics.
type inventory struct {
	targets  map[refs.ClusterKey]refs.Endpoint
	settings map[refs.ClusterKey]ObjectSettings
	pools    map[refs.ClusterKey][]demand.Pool
	// metricObjects are the objects that have metrics, by resource.
	metricObjects map[string]map[types.NamespacedName]metricObject
}

// metricObject is an object that has metrics.
type metricObject struct {
	labels      labels.Set
	clusters    []refs.ClusterKey
	pool        string
	scaleBounds *scaling.Bounds // of a NodeSet
}

// planInventory computes the inventory of the objects. It is pure, and the order of the objects
// does not matter.
func planInventory(observed Objects, fixed *FixedCluster, defaults metricsapi.PoolDefaults) inventory {
	s := inventory{
		targets: map[refs.ClusterKey]refs.Endpoint{}, settings: map[refs.ClusterKey]ObjectSettings{},
		pools: map[refs.ClusterKey][]demand.Pool{}, metricObjects: map[string]map[types.NamespacedName]metricObject{},
	}
	if fixed != nil {
		s.addFixedCluster(fixed, observed)
	} else {
		s.addFoundClusters(observed)
	}
	s.addNamespaces(observed.Namespaces, fixed)
	s.addNodeSets(observed, fixed, defaults)
	return s
}

func (s *inventory) addObject(of metricsapi.Resource, namespace, name string, r metricObject) {
	if s.metricObjects[of.Resource] == nil {
		s.metricObjects[of.Resource] = map[types.NamespacedName]metricObject{}
	}
	s.metricObjects[of.Resource][types.NamespacedName{Namespace: namespace, Name: name}] = r
}

func (s *inventory) addFoundClusters(observed Objects) {
	for _, c := range observed.Clusters {
		k := refs.ClusterKey{Kind: v1beta1.KindCluster, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = refs.ClusterEndpoint(c)
		s.settings[k] = ObjectSettings{Annotations: c.Annotations}
		s.addObject(metricsapi.Clusters(), c.Namespace, c.Name,
			metricObject{labels: c.Labels, clusters: []refs.ClusterKey{k}})
	}
	apis := sortByName(observed.RestApis)
	for _, c := range observed.Controllers {
		k := refs.ClusterKey{Kind: v1beta1.KindController, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = refs.ControllerEndpoint(c, apis)
		s.settings[k] = settingsOfController(c)
		s.addObject(metricsapi.Controllers(), c.Namespace, c.Name,
			metricObject{labels: c.Labels, clusters: []refs.ClusterKey{k}})
	}
}

// addFixedCluster assigns the fixed cluster to the Cluster and Controller that it represents,
// whether they exist or not.
func (s *inventory) addFixedCluster(f *FixedCluster, observed Objects) {
	k := f.key()
	s.targets[k] = refs.Endpoint{}
	if f.Name == "" {
		return
	}
	cluster, controller := metricObject{clusters: []refs.ClusterKey{k}},
		metricObject{clusters: []refs.ClusterKey{k}}
	for _, c := range observed.Clusters {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			cluster.labels = c.Labels
			s.settings[k] = ObjectSettings{Annotations: c.Annotations}
		}
	}
	for _, c := range observed.Controllers {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			controller.labels = c.Labels
			s.settings[k] = settingsOfController(c)
		}
	}
	s.addObject(metricsapi.Clusters(), f.Namespace, f.Name, cluster)
	s.addObject(metricsapi.Controllers(), f.Namespace, f.Name, controller)
}

// addNamespaces assigns to each namespace the clusters in it.
func (s *inventory) addNamespaces(known []*metav1.PartialObjectMetadata, fixed *FixedCluster) {
	in := map[string][]refs.ClusterKey{}
	for k := range s.targets {
		if k.Namespace != "" {
			in[k.Namespace] = append(in[k.Namespace], k)
		}
	}
	set := map[string]labels.Set{}
	for _, n := range known {
		set[n.Name] = n.Labels
		if fixed != nil && fixed.Name == "" {
			in[n.Name] = []refs.ClusterKey{fixed.key()}
		}
	}
	for name, keys := range in {
		slices.SortFunc(keys, func(a, b refs.ClusterKey) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
		})
		s.addObject(metricsapi.Namespaces(), "", name, metricObject{labels: set[name], clusters: keys})
	}
}

func (s *inventory) addNodeSets(observed Objects, fixed *FixedCluster, defaults metricsapi.PoolDefaults) {
	hpas := map[types.NamespacedName]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, h := range sortByName(observed.HPAs) {
		target := types.NamespacedName{Namespace: h.Namespace, Name: h.Spec.ScaleTargetRef.Name}
		// Of several HPAs the one with the highest maximum counts, as in the operator.
		if best := hpas[target]; scaling.TargetsNodeSet(h) &&
			(best == nil || h.Spec.MaxReplicas > best.Spec.MaxReplicas) {
			hpas[target] = h
		}
	}
	for _, n := range sortByName(observed.NodeSets) {
		k, ok := clusterOfNodeSet(n, fixed)
		if !ok {
			continue
		}
		hpa := hpas[types.NamespacedName{Namespace: n.Namespace, Name: n.Name}]
		pool, offer := metricsapi.PoolOf(n, hpa, defaults), scaling.BoundsOf(n, hpa)
		s.pools[k] = append(s.pools[k], pool)
		s.addObject(metricsapi.NodeSets(), n.Namespace, n.Name,
			metricObject{labels: n.Labels, clusters: []refs.ClusterKey{k}, pool: pool.Name, scaleBounds: &offer})
	}
}

// clusterOfNodeSet returns the cluster that a NodeSet belongs to, or false for none.
func clusterOfNodeSet(n *v1beta1.NodeSet, fixed *FixedCluster) (refs.ClusterKey, bool) {
	k, ok := refs.ClusterKeyOf(n)
	if fixed == nil {
		return k, ok
	}
	if fixed.Name == "" || ok && k.Namespace == fixed.Namespace && k.Name == fixed.Name {
		return fixed.key(), true
	}
	return k, ok
}

// sortByName returns the objects sorted by namespace and name.
func sortByName[T metav1.Object](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}
