package clusters

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func localRef(name string) *corev1.LocalObjectReference {
	return &corev1.LocalObjectReference{Name: name}
}

func aCluster(namespace, name, server string) *v1beta1.Cluster {
	return &v1beta1.Cluster{ObjectMeta: objectMeta(namespace, name), Spec: v1beta1.ClusterSpec{
		Server: server, Token: v1beta1.ClusterToken{SecretRef: v1beta1.SecretKeyReference{Name: name + "-token",
			Key: "jwt"}},
	}}
}

func newNodeSet(namespace, name string, change func(*v1beta1.NodeSetSpec)) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{ObjectMeta: objectMeta(namespace, name)}
	change(&n.Spec)
	return n
}

func hpaOf(namespace, name, target string, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: objectMeta(namespace, name),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
				Kind: "NodeSet", Name: target}, MaxReplicas: most,
		}}
}

// testObjects has two namespaces with one cluster each, and NodeSets.
func testObjects() Objects {
	gold := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "team",
		Labels: map[string]string{"tier": "gold"}}}
	return Objects{
		Clusters:    []*v1beta1.Cluster{aCluster("team", "red", "http://red")},
		Controllers: []*v1beta1.Controller{{ObjectMeta: objectMeta("lab", "blue")}},
		NodeSets: []*v1beta1.NodeSet{
			newNodeSet("team", "a", func(s *v1beta1.NodeSetSpec) { s.ClusterRef = localRef("red") }),
			newNodeSet("team", "b", func(s *v1beta1.NodeSetSpec) { s.ClusterRef = localRef("red") }),
			newNodeSet("lab", "a", func(s *v1beta1.NodeSetSpec) { s.ControllerRef = localRef("blue") }),
			newNodeSet("lab", "lost", func(s *v1beta1.NodeSetSpec) { s.ClusterRef = localRef("nobody") }),
			newNodeSet("lab", "alone", func(*v1beta1.NodeSetSpec) {}),
		},
		HPAs: []*autoscalingv2.HorizontalPodAutoscaler{hpaOf("team", "z", "a", 9), hpaOf("team", "y", "a", 5),
			hpaOf("lab", "x", "b", 7)},
		Namespaces: []*metav1.PartialObjectMetadata{gold, {ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}},
	}
}

var (
	red  = refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "red"}
	blue = refs.ClusterKey{Kind: "Controller", Namespace: "lab", Name: "blue"}
)

// describeInventory returns the clusters of each object as text.
func describeInventory(s inventory) map[string][]string {
	out := map[string][]string{}
	for _, of := range []metricsapi.Resource{metricsapi.NodeSets(), metricsapi.Clusters(), metricsapi.Controllers(),
		metricsapi.Namespaces()} {
		for name, r := range s.metricObjects[of.Resource] {
			id := of.Resource + " " + name.String()
			out[id] = []string{}
			for _, k := range r.clusters {
				out[id] = append(out[id], k.Kind+" "+k.String())
			}
		}
	}
	return out
}

func TestFoundClusters(t *testing.T) {
	s := planInventory(testObjects(), nil, metricsapi.PoolDefaults{IdleGrace: time.Minute})
	want := map[string][]string{
		"nodesets team/a": {"Cluster team/red"}, "nodesets team/b": {"Cluster team/red"},
		"nodesets lab/a": {"Controller lab/blue"}, "nodesets lab/lost": {"Cluster lab/nobody"},
		"clusters team/red": {"Cluster team/red"}, "controllers lab/blue": {"Controller lab/blue"},
		"namespaces /team": {"Cluster team/red"}, "namespaces /lab": {"Controller lab/blue"},
	}
	if diff := cmp.Diff(want, describeInventory(s)); diff != "" {
		t.Error(diff)
	}
	if len(s.targets) != 2 || s.targets[red].URL != "http://red" || s.targets[blue].Problem == "" {
		t.Errorf("the targets are %+v", s.targets)
	}
	pools := s.pools[red]
	if len(pools) != 2 || pools[0].Name != "team/a" || pools[0].Max != 9 || pools[0].IdleGrace != time.Minute ||
		pools[1].Max != 0 {
		t.Errorf("the pools are %+v", pools)
	}
	if s.metricObjects["namespaces"][namespacedName("", "team")].labels["tier"] != "gold" {
		t.Error("the namespace has no labels")
	}
}

func TestAFixedCluster(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fixed FixedCluster
		want  map[string][]string
	}{
		{"represents an object", FixedCluster{"team", "red"}, map[string][]string{
			"nodesets team/a": {"Cluster team/red"}, "nodesets team/b": {"Cluster team/red"},
			"nodesets lab/a":    {"Controller lab/blue"},
			"nodesets lab/lost": {"Cluster lab/nobody"}, // clusters that do not exist
			"clusters team/red": {"Cluster team/red"}, "controllers team/red": {"Cluster team/red"},
			"namespaces /team": {"Cluster team/red"},
		}},
		{"represents no object and has every NodeSet", FixedCluster{}, map[string][]string{
			"nodesets team/a": {"Cluster slurm"}, "nodesets team/b": {"Cluster slurm"},
			"nodesets lab/a":    {"Cluster slurm"},
			"nodesets lab/lost": {"Cluster slurm"}, "nodesets lab/alone": {"Cluster slurm"},
			"namespaces /team": {"Cluster slurm"}, "namespaces /lab": {"Cluster slurm"},
			"namespaces /empty": {"Cluster slurm"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := planInventory(testObjects(), &tc.fixed, metricsapi.PoolDefaults{})
			if diff := cmp.Diff(tc.want, describeInventory(s)); diff != "" {
				t.Error(diff)
			}
			if _, ok := s.targets[tc.fixed.key()]; !ok || len(s.targets) != 1 {
				t.Errorf("the targets are %v", s.targets)
			}
		})
	}
}

func TestTheOrderOfObjectsChangesNothing(t *testing.T) {
	want := planInventory(testObjects(), nil, metricsapi.PoolDefaults{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		o := testObjects()
		r.Shuffle(len(o.NodeSets), func(i, j int) { o.NodeSets[i], o.NodeSets[j] = o.NodeSets[j], o.NodeSets[i] })
		r.Shuffle(len(o.HPAs), func(i, j int) { o.HPAs[i], o.HPAs[j] = o.HPAs[j], o.HPAs[i] })
		slices.Reverse(o.Namespaces)
		if diff := cmp.Diff(want, planInventory(o, nil, metricsapi.PoolDefaults{}),
			cmp.AllowUnexported(inventory{}, metricObject{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestNodeSetsOfAllNamespacesAreListed(t *testing.T) {
	r := New(Config{})
	r.state.Store(&state{inventory: planInventory(testObjects(), nil, metricsapi.PoolDefaults{})})
	var got []string
	for _, o := range r.NodeSets() {
		most := "any number"
		if o.ScaleBounds.Max != nil {
			most = strconv.FormatUint(*o.ScaleBounds.Max, 10)
		}
		got = append(got, o.Pool+" in "+o.Clusters[0].String()+", at most "+most)
	}
	want := []string{"lab/a in lab/blue, at most any number", "lab/lost in lab/nobody, at most any number",
		"team/a in team/red, at most 9", "team/b in team/red, at most any number"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
