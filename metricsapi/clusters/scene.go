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
	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
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
type Fixed struct {
	// Namespace and Name identify the Cluster or Controller that it represents; NodeSets that
	// refer to that object belong to it. If both are empty, every NodeSet belongs to it, every
	// namespace has its metrics, and no Cluster or Controller has metrics.
	Namespace, Name string
}

// fixedClusterName is the name of a fixed cluster that represents no object.
const fixedName = "slurm"

// key returns the key of the fixed cluster.
func (f *Fixed) key() access.Key {
	return access.Key{Kind: v1beta1.KindCluster, Namespace: f.Namespace, Name: cmp.Or(f.Name, fixedName)}
}

// inventory is the desired state: the clusters to read, their pools, and the objects that have
// metrics.
type scene struct {
	targets map[access.Key]access.Target
	origins map[access.Key]Origin
	pools   map[access.Key][]demand.Pool
	// metricObjects are the objects that have metrics, by resource.
	records map[string]map[types.NamespacedName]record
}

// metricObject is an object that has metrics.
type record struct {
	labels   labels.Set
	clusters []access.Key
	pool     string
	offer    *metricsapi.Offer // of a NodeSet
}

// planInventory computes the inventory of the objects. It is pure, and the order of the objects
// does not matter.
func arrange(observed Objects, fixed *Fixed, defaults metricsapi.PoolDefaults) scene {
	s := scene{
		targets: map[access.Key]access.Target{}, origins: map[access.Key]Origin{},
		pools: map[access.Key][]demand.Pool{}, records: map[string]map[types.NamespacedName]record{},
	}
	if fixed != nil {
		s.addFixed(fixed, observed)
	} else {
		s.addFound(observed)
	}
	s.addNamespaces(observed.Namespaces, fixed)
	s.addNodeSets(observed, fixed, defaults)
	return s
}

func (s *scene) put(of metricsapi.Resource, namespace, name string, r record) {
	if s.records[of.Resource] == nil {
		s.records[of.Resource] = map[types.NamespacedName]record{}
	}
	s.records[of.Resource][types.NamespacedName{Namespace: namespace, Name: name}] = r
}

func (s *scene) addFound(observed Objects) {
	for _, c := range observed.Clusters {
		k := access.Key{Kind: v1beta1.KindCluster, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = access.TargetOfCluster(c)
		s.origins[k] = Origin{Annotations: c.Annotations}
		s.put(metricsapi.Clusters(), c.Namespace, c.Name, record{labels: c.Labels, clusters: []access.Key{k}})
	}
	apis := byName(observed.RestApis)
	for _, c := range observed.Controllers {
		k := access.Key{Kind: v1beta1.KindController, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = access.TargetOfController(c, apis)
		s.origins[k] = originOfController(c)
		s.put(metricsapi.Controllers(), c.Namespace, c.Name, record{labels: c.Labels, clusters: []access.Key{k}})
	}
}

// addFixedCluster assigns the fixed cluster to the Cluster and Controller that it represents,
// whether they exist or not.
func (s *scene) addFixed(f *Fixed, observed Objects) {
	k := f.key()
	s.targets[k] = access.Target{}
	if f.Name == "" {
		return
	}
	cluster, controller := record{clusters: []access.Key{k}}, record{clusters: []access.Key{k}}
	for _, c := range observed.Clusters {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			cluster.labels = c.Labels
			s.origins[k] = Origin{Annotations: c.Annotations}
		}
	}
	for _, c := range observed.Controllers {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			controller.labels = c.Labels
			s.origins[k] = originOfController(c)
		}
	}
	s.put(metricsapi.Clusters(), f.Namespace, f.Name, cluster)
	s.put(metricsapi.Controllers(), f.Namespace, f.Name, controller)
}

// addNamespaces assigns to each namespace the clusters in it.
func (s *scene) addNamespaces(known []*metav1.PartialObjectMetadata, fixed *Fixed) {
	in := map[string][]access.Key{}
	for k := range s.targets {
		if k.Namespace != "" {
			in[k.Namespace] = append(in[k.Namespace], k)
		}
	}
	set := map[string]labels.Set{}
	for _, n := range known {
		set[n.Name] = n.Labels
		if fixed != nil && fixed.Name == "" {
			in[n.Name] = []access.Key{fixed.key()}
		}
	}
	for name, keys := range in {
		slices.SortFunc(keys, func(a, b access.Key) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
		})
		s.put(metricsapi.Namespaces(), "", name, record{labels: set[name], clusters: keys})
	}
}

func (s *scene) addNodeSets(observed Objects, fixed *Fixed, defaults metricsapi.PoolDefaults) {
	hpas := map[types.NamespacedName]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, h := range byName(observed.HPAs) {
		target := types.NamespacedName{Namespace: h.Namespace, Name: h.Spec.ScaleTargetRef.Name}
		// Of several HPAs the one with the highest maximum counts, as in the operator.
		if best := hpas[target]; metricsapi.TargetsNodeSet(h) && (best == nil || h.Spec.MaxReplicas > best.Spec.MaxReplicas) {
			hpas[target] = h
		}
	}
	for _, n := range byName(observed.NodeSets) {
		k, ok := clusterOf(n, fixed)
		if !ok {
			continue
		}
		hpa := hpas[types.NamespacedName{Namespace: n.Namespace, Name: n.Name}]
		pool, offer := metricsapi.PoolOf(n, hpa, defaults), metricsapi.OfferOf(n, hpa)
		s.pools[k] = append(s.pools[k], pool)
		s.put(metricsapi.NodeSets(), n.Namespace, n.Name,
			record{labels: n.Labels, clusters: []access.Key{k}, pool: pool.Name, offer: &offer})
	}
}

// clusterOfNodeSet returns the cluster that a NodeSet belongs to, or false for none.
func clusterOf(n *v1beta1.NodeSet, fixed *Fixed) (access.Key, bool) {
	k, ok := access.KeyOf(n)
	if fixed == nil {
		return k, ok
	}
	if fixed.Name == "" || ok && k.Namespace == fixed.Namespace && k.Name == fixed.Name {
		return fixed.key(), true
	}
	return k, ok
}

// sortByName returns the objects sorted by namespace and name.
func byName[T metav1.Object](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}
