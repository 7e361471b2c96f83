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

// Objects are what is in Kubernetes. Nobody writes to them.
type Objects struct {
	NodeSets    []*v1beta1.NodeSet
	Controllers []*v1beta1.Controller
	Clusters    []*v1beta1.Cluster
	RestApis    []*v1beta1.RestApi
	HPAs        []*autoscalingv2.HorizontalPodAutoscaler
	Namespaces  []*metav1.PartialObjectMetadata
}

// Fixed is one Slurm cluster that is given instead of being found.
type Fixed struct {
	// Namespace and Name are those of the Cluster or Controller that it stands for:
	// NodeSets that name it are its own. Both empty: every NodeSet is, and every
	// namespace has the cluster's metrics, while no Cluster or Controller has any.
	Namespace, Name string
}

// fixedName is what a fixed cluster is called that stands for no object.
const fixedName = "slurm"

// key is the one by which the fixed cluster is known.
func (f *Fixed) key() access.Key {
	return access.Key{Kind: v1beta1.KindCluster, Namespace: f.Namespace, Name: cmp.Or(f.Name, fixedName)}
}

// scene is what there should be.
type scene struct {
	targets map[access.Key]access.Target
	origins map[access.Key]Origin
	pools   map[access.Key][]demand.Pool
	// records are the objects that have metrics, by resource.
	records map[string]map[types.NamespacedName]record
}

// record is an object that has metrics.
type record struct {
	labels   labels.Set
	clusters []access.Key
	pool     string
	offer    *metricsapi.Offer // of a NodeSet
}

// arrange decides what the objects come to. It is pure; the order of the objects
// changes nothing.
func arrange(seen Objects, fixed *Fixed, defaults metricsapi.PoolDefaults) scene {
	s := scene{targets: map[access.Key]access.Target{}, origins: map[access.Key]Origin{}, pools: map[access.Key][]demand.Pool{}, records: map[string]map[types.NamespacedName]record{}}
	if fixed != nil {
		s.addFixed(fixed, seen)
	} else {
		s.addFound(seen)
	}
	s.addNamespaces(seen.Namespaces, fixed)
	s.addNodeSets(seen, fixed, defaults)
	return s
}

func (s *scene) put(of metricsapi.Resource, namespace, name string, r record) {
	if s.records[of.Resource] == nil {
		s.records[of.Resource] = map[types.NamespacedName]record{}
	}
	s.records[of.Resource][types.NamespacedName{Namespace: namespace, Name: name}] = r
}

func (s *scene) addFound(seen Objects) {
	for _, c := range seen.Clusters {
		k := access.Key{Kind: v1beta1.KindCluster, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = access.TargetOfCluster(c)
		s.origins[k] = Origin{Annotations: c.Annotations}
		s.put(metricsapi.Clusters(), c.Namespace, c.Name, record{labels: c.Labels, clusters: []access.Key{k}})
	}
	apis := byName(seen.RestApis)
	for _, c := range seen.Controllers {
		k := access.Key{Kind: v1beta1.KindController, Namespace: c.Namespace, Name: c.Name}
		s.targets[k] = access.TargetOfController(c, apis)
		s.origins[k] = originOfController(c)
		s.put(metricsapi.Controllers(), c.Namespace, c.Name, record{labels: c.Labels, clusters: []access.Key{k}})
	}
}

// addFixed gives the one cluster to the objects that it stands for, whether they
// are there or not.
func (s *scene) addFixed(f *Fixed, seen Objects) {
	k := f.key()
	s.targets[k] = access.Target{}
	if f.Name == "" {
		return
	}
	cluster, controller := record{clusters: []access.Key{k}}, record{clusters: []access.Key{k}}
	for _, c := range seen.Clusters {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			cluster.labels = c.Labels
			s.origins[k] = Origin{Annotations: c.Annotations}
		}
	}
	for _, c := range seen.Controllers {
		if c.Namespace == f.Namespace && c.Name == f.Name {
			controller.labels = c.Labels
			s.origins[k] = originOfController(c)
		}
	}
	s.put(metricsapi.Clusters(), f.Namespace, f.Name, cluster)
	s.put(metricsapi.Controllers(), f.Namespace, f.Name, controller)
}

// addNamespaces gives each namespace the clusters that are in it.
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

func (s *scene) addNodeSets(seen Objects, fixed *Fixed, defaults metricsapi.PoolDefaults) {
	hpas := map[types.NamespacedName]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, h := range byName(seen.HPAs) {
		target := types.NamespacedName{Namespace: h.Namespace, Name: h.Spec.ScaleTargetRef.Name}
		// Of several HPAs the one that may go highest counts, as for the operator.
		if best := hpas[target]; metricsapi.TargetsNodeSet(h) && (best == nil || h.Spec.MaxReplicas > best.Spec.MaxReplicas) {
			hpas[target] = h
		}
	}
	for _, n := range byName(seen.NodeSets) {
		k, ok := clusterOf(n, fixed)
		if !ok {
			continue
		}
		hpa := hpas[types.NamespacedName{Namespace: n.Namespace, Name: n.Name}]
		pool, offer := metricsapi.PoolOf(n, hpa, defaults), metricsapi.OfferOf(n, hpa)
		s.pools[k] = append(s.pools[k], pool)
		s.put(metricsapi.NodeSets(), n.Namespace, n.Name, record{labels: n.Labels, clusters: []access.Key{k}, pool: pool.Name, offer: &offer})
	}
}

// clusterOf is the cluster that a NodeSet belongs to, or false for none.
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

// byName returns the objects sorted by namespace and name.
func byName[T metav1.Object](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}
