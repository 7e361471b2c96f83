package clusters

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// oneSecret returns the same Secret for every reference.
type oneSecret struct{}

func (oneSecret) Read(context.Context, refs.KeyRef) (access.SecretContent, error) {
	return access.SecretContent{Data: map[string][]byte{"jwt": []byte("token")}, TokenAnnotation: "true"}, nil
}

func namespacedName(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// startSlurm returns a simulated cluster with the nodes, and its URL.
func startSlurm(t *testing.T, nodes string) (*slurmtest.Cluster, string) {
	t.Helper()
	c := slurmtest.New(slurmtest.Config{Nodes: []slurmtest.NodeConf{{Names: nodes, CPUs: 4, MemoryMiB: 8000,
		Features: []string{"a"}}}})
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	return c, server.URL
}

// testRegistry is a Registry that counts attachments and readings by cluster.
type testRegistry struct {
	*Registry
	mu       sync.Mutex
	attached map[refs.ClusterKey]int
	readings map[refs.ClusterKey]int // readings
}

// ObserveReading implements Readings.
func (r *testRegistry) ObserveReading(k refs.ClusterKey, _ time.Time, _ *metricsapi.Reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readings[k]++
}

// ForgetCluster implements Readings.
func (r *testRegistry) ForgetCluster(k refs.ClusterKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.readings, k)
}

func (r *testRegistry) hasReading(k refs.ClusterKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readings[k] > 0
}

func newTestRegistry(t *testing.T) *testRegistry {
	t.Helper()
	r := &testRegistry{attached: map[refs.ClusterKey]int{}, readings: map[refs.ClusterKey]int{}}
	r.Registry = New(Config{
		Access: access.Config{Secrets: oneSecret{}, User: "slurm", Lifetime: time.Hour},
		Cache:  slurmclient.CacheConfig{Period: 20 * time.Millisecond}, Observers: []ReadingObserver{r},
		Attach: func(k refs.ClusterKey) Attachment {
			return Attachment{Run: func(ctx context.Context, _ Connected) {
				r.addAttachment(k, 1)
				<-ctx.Done()
				r.addAttachment(k, -1)
			}}
		},
	})
	t.Cleanup(r.stop)
	return r
}

func (r *testRegistry) addAttachment(k refs.ClusterKey, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached[k] += n
}

func (r *testRegistry) attachedTo(k refs.ClusterKey) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached[k]
}

// idleNodes returns how many idle nodes the provider reports for an object.
func (r *testRegistry) idleNodes(of metricsapi.Resource, namespace, name string) (int64, error) {
	p := metricsapi.New(r, metricsapi.Config{})
	v, err := p.GetMetricByName(context.Background(), namespacedName(namespace, name),
		provider.CustomMetricInfo{GroupResource: of.GroupResource, Namespaced: of.Namespaced,
			Metric: "slurm_partition_idle_nodes"}, labels.Everything())
	if err != nil {
		return 0, err
	}
	return v.Value.Value(), nil
}

// waitUntil waits for the condition, at most 20 seconds.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("timed out waiting until %s", what)
		case <-tick.C:
		}
	}
}

func TestClustersAreAddedAndRemovedSeparately(t *testing.T) {
	_, small := startSlurm(t, "n[1-2]")
	_, large := startSlurm(t, "n[1-5]")
	r := newTestRegistry(t)
	is := func(namespace, name string, want int64) func() bool {
		return func() bool {
			got, err := r.idleNodes(metricsapi.Clusters(), namespace, name)
			return err == nil && got == want
		}
	}
	one, two := aCluster("team", "red", small), aCluster("lab", "red", large)
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{one}})
	waitUntil(t, "the first is read", is("team", "red", 2))
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{one, two}})
	waitUntil(t, "the second is read", is("lab", "red", 5))
	if !is("team", "red", 2)() {
		t.Error("the second cluster changed the numbers of the first")
	}
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{aCluster("team", "red", large), two}})
	waitUntil(t, "the first has moved", is("team", "red", 5))
	if n := r.attachedTo(red); n != 1 {
		t.Errorf("there are %d attached connections, want 1", n)
	}
	if !r.hasReading(red) {
		t.Error("the observer was not notified of readings")
	}
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{two}})
	if _, err := r.idleNodes(metricsapi.Clusters(), "team", "red"); !apierrors.IsNotFound(err) {
		t.Errorf("the error for a removed cluster is %v, want not found", err)
	}
	waitUntil(t, "the removed cluster has no attached connection", func() bool { return r.attachedTo(red) == 0 })
	waitUntil(t, "the observer is notified of the removed cluster", func() bool { return !r.hasReading(red) })
}

// TestAClusterThatStopsSlowlyDelaysNoOther: a cluster may stop slowly while its demand is being computed. Its successor
// begins after it.
func TestAClusterThatStopsSlowlyDelaysNoOther(t *testing.T) {
	_, small := startSlurm(t, "n[1-2]")
	_, large := startSlurm(t, "n[1-5]")
	r := newTestRegistry(t)
	slow := make(chan struct{})
	end := sync.OnceFunc(func() { close(slow) })
	t.Cleanup(end)
	attach := r.cfg.Attach
	r.cfg.Attach = func(k refs.ClusterKey) Attachment {
		of := attach(k)
		return Attachment{Run: func(ctx context.Context, to Connected) {
			of.Run(ctx, to)
			if k == red {
				<-slow
			}
		}}
	}
	is := func(namespace, name string, want int64) func() bool {
		return func() bool {
			got, err := r.idleNodes(metricsapi.Clusters(), namespace, name)
			return err == nil && got == want
		}
	}
	two := aCluster("lab", "red", large)
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{aCluster("team", "red", small)}})
	waitUntil(t, "the first is read", is("team", "red", 2))
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{two}})
	waitUntil(t, "the second is read", is("lab", "red", 5))
	if !r.hasReading(red) {
		t.Error("the first was forgotten before it stopped")
	}
	r.Apply(t.Context(), Objects{Clusters: []*v1beta1.Cluster{aCluster("team", "red", large), two}})
	if n := r.attachedTo(red); n != 0 {
		t.Errorf("its successor has begun: %d attached connections", n)
	}
	if err := r.Settled(); err == nil {
		t.Error("the successor counts as read")
	}
	end()
	waitUntil(t, "the successor is read", is("team", "red", 5))
	if !r.hasReading(red) {
		t.Error("the successor was forgotten with the first")
	}
}

func TestANodeSetsPoolFollowsItsObjects(t *testing.T) {
	c, url := startSlurm(t, "n[1-2]")
	for range 9 {
		if _, err := c.Submit(slurmtest.JobSpec{JobRequest: slurm.JobRequest{Exclusive: true},
			Forever: true}); err != nil {
			t.Fatal(err)
		}
	}
	c.Step(time.Minute) // let the scheduler evaluate them
	r := newTestRegistry(t)
	required := func() int64 {
		v, err := metricsapi.New(r, metricsapi.Config{}).GetMetricByName(t.Context(), namespacedName("team", "a"),
			provider.CustomMetricInfo{GroupResource: metricsapi.NodeSets().GroupResource, Namespaced: true,
				Metric: "slurm_nodeset_required_nodes"}, labels.Everything())
		if err != nil {
			return -1
		}
		return v.Value.Value()
	}
	objects := Objects{
		Clusters: []*v1beta1.Cluster{aCluster("team", "red", url)},
		NodeSets: []*v1beta1.NodeSet{newNodeSet("team", "a",
			func(s *v1beta1.NodeSetSpec) { s.ClusterRef, s.ExtraConf = localRef("red"), "CPUs=1 RealMemory=1000" })},
	}
	r.Apply(t.Context(), objects)
	waitUntil(t, "the jobs are counted", func() bool { return required() == 9 })
	objects.HPAs = []*autoscalingv2.HorizontalPodAutoscaler{hpaOf("team", "a", "a", 4)}
	r.Apply(t.Context(), objects)
	waitUntil(t, "the HPA's maximum limits the required nodes", func() bool { return required() == 4 })
}

func TestAClusterThatCannotBeReadSaysWhy(t *testing.T) {
	c, url := startSlurm(t, "n1")
	c.InjectFault(slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 500})
	r := newTestRegistry(t)
	if err := r.Settled(); err == nil {
		t.Error("the registry is settled before objects were applied")
	}
	withCA := aCluster("team", "tls", url)
	withCA.Spec.CARef = &v1beta1.CAReference{Name: "ca", Key: "missing"}
	r.Apply(t.Context(), Objects{
		Clusters:    []*v1beta1.Cluster{aCluster("team", "down", url), withCA},
		Controllers: []*v1beta1.Controller{{ObjectMeta: objectMeta("team", "alone")}},
		NodeSets: []*v1beta1.NodeSet{newNodeSet("team", "lost",
			func(s *v1beta1.NodeSetSpec) { s.ClusterRef = localRef("nobody") })},
	})
	waitUntil(t, "each has failed once", func() bool { return r.Settled() == nil })
	for _, tc := range []struct {
		of         metricsapi.Resource
		name, want string
	}{
		{metricsapi.Clusters(), "down", "500"},
		{metricsapi.Clusters(), "tls", `no key "missing"`},
		{metricsapi.Controllers(), "alone", "no RestApi"},
		{metricsapi.NodeSets(), "lost", "no Cluster of this name exists"},
	} {
		_, err := r.idleNodes(tc.of, "team", tc.name)
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v", tc.name, err)
		}
	}
	c.ClearFaults()
	waitUntil(t, "it has recovered",
		func() bool { n, err := r.idleNodes(metricsapi.Clusters(), "team", "down"); return err == nil && n == 1 })
}

func TestAFixedClusterIsReadByItsOwnClient(t *testing.T) {
	_, url := startSlurm(t, "n[1-3]")
	r := New(Config{
		Fixed: &FixedCluster{Namespace: "team", Name: "red"},
		Cache: slurmclient.CacheConfig{Period: 20 * time.Millisecond},
		Connect: func(o slurmclient.Observer) (*slurmclient.Client, slurmclient.TokenSource, error) {
			token := slurmclient.TokenFromKey([]byte("any"), "root", time.Hour, time.Now)
			c, err := slurmclient.New(slurmclient.Config{URL: url, Token: token, Observer: o})
			return c, token, err
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	changed, done := make(chan struct{}, 1), make(chan struct{})
	changed <- struct{}{}
	go func() { r.Run(ctx, changed, func() Objects { return Objects{} }); close(done) }()
	fixed := &testRegistry{Registry: r}
	waitUntil(t, "it is read", func() bool {
		n, err := fixed.idleNodes(metricsapi.Clusters(), "team", "red")
		return err == nil && n == 3
	})
	cancel()
	<-done
}

func TestObjectsAreConverted(t *testing.T) {
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "NodeSet",
			"metadata": map[string]any{"name": "a", "namespace": "team"}, "spec": spec}}
	}
	limit := func(cpu any) map[string]any {
		return map[string]any{"resources": map[string]any{"limits": map[string]any{"cpu": cpu}}}
	}
	for _, tc := range []struct {
		name string
		spec map[string]any
		want func(n *v1beta1.NodeSet) error
	}{
		{"the limits are kept", map[string]any{"slurmd": limit("4"),
			"template": map[string]any{"spec": map[string]any{"containers": "nonsense"}}},
			func(n *v1beta1.NodeSet) error {
				slurmd, err := n.Spec.Slurmd.Container()
				if err == nil && slurmd.Resources.Limits.Cpu().Value() != 4 {
					err = errors.New("the limits are lost")
				}
				return err
			}},
		{"the fields that determine worker names are kept",
			map[string]any{"template": map[string]any{"spec": map[string]any{"hostname": "rack-", "volumes": []any{}}}},
			func(n *v1beta1.NodeSet) error {
				if got := names.WorkerPrefix(n); got != "rack-" {
					return fmt.Errorf("the prefix of worker names is %q", got)
				}
				return nil
			}},
		{"an invalid container does not affect other fields",
			map[string]any{"slurmd": limit("many"), "clusterRef": map[string]any{"name": "red"}},
			func(n *v1beta1.NodeSet) error {
				if _, err := n.Spec.Slurmd.Container(); n.Spec.ClusterRef == nil || err == nil {
					return errors.New("other fields are lost, or the container is valid")
				}
				return nil
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := convertObject[v1beta1.NodeSet](object(tc.spec))
			if err != nil {
				t.Fatal(err)
			}
			n, ok := got.(*v1beta1.NodeSet)
			if !ok || n.Name != "a" || n.Namespace != "team" {
				t.Fatalf("the object is %#v", got)
			}
			if err := tc.want(n); err != nil {
				t.Errorf("%v: %+v", err, n.Spec)
			}
		})
	}
}
