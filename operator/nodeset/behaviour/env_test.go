package behaviour

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/reading"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/wakeup"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// testEnv is a reconciler on a store that behaves as the API server does, and a Slurm.
type testEnv struct {
	*nodeset.Reconciler
	client.Client
	t            *testing.T
	scheme       *runtime.Scheme
	slurm        *nodesettest.FakeSlurm
	slurmMissing bool
	image        string
	parallel     int
	now          time.Time
	events       *events.FakeRecorder

	mu sync.Mutex
	// writes are those to the store, in words such as "delete Pod gpu-0"; fail is why
	// one fails. before may refuse those to the store and to Slurm, after lose their answer.
	writes        []string
	fail          map[string]error
	before        func() error
	after         func(error) error
	cachedObjects []cachedObject
}

// sharedScheme and sharedDecoder know the types of all stores.
var (
	sharedScheme = sync.OnceValue(func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme,
			policyv1.AddToScheme, autoscalingv2.AddToScheme} {
			utilruntime.Must(add(scheme))
		}
		return scheme
	})
	sharedDecoder = sync.OnceValue(func() runtime.Decoder {
		return serializer.NewCodecFactory(sharedScheme()).UniversalDecoder()
	})
)

// newTestEnv returns an env with the NodeSet, its Controller with the key, ten Kubernetes nodes, and a Slurm
// that was read at noon.
func newTestEnv(t *testing.T, nodeSet *v1beta1.NodeSet, others ...client.Object) *testEnv {
	t.Helper()
	r := &testEnv{t: t, scheme: sharedScheme(), now: nodesettest.Noon, parallel: 1,
		image: "registry.example.com/slurmd:1", fail: map[string]error{},
		before: func() error { return nil }, after: func(err error) error { return err },
		events: events.NewFakeRecorder(10000)}
	store := clienttesting.NewObjectTracker(r.scheme, sharedDecoder())
	b := fake.NewClientBuilder().WithScheme(r.scheme).WithObjectTracker(
		store).WithGlobalResourceVersionCounter().WithStatusSubresource(nodeSet, &corev1.Pod{}).WithObjects(
		nodeSet).WithObjects(others...).
		WithIndex(&autoscalingv2.HorizontalPodAutoscaler{}, wakeup.NodeSetIndex, wakeup.NodeSetNames).
		WithInterceptorFuncs(interceptor.Funcs{List: r.interceptList, Create: r.interceptCreate,
			Delete: r.interceptDelete, Patch: r.interceptPatch, SubResourcePatch: r.interceptStatusPatch})
	if err := nodeset.AddIndexes(t.Context(), fakeIndexer{b}); err != nil {
		t.Fatal(err)
	}
	b.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slurm", UID: "uid-namespace"}})
	for i := range 10 {
		b.WithObjects(nodesettest.NewKubeNode(fmt.Sprintf("kube-%d", i)))
	}
	r.Client = b.Build()
	key := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "auth"}, Key: "slurm.key"}
	b = nil
	r.createObject(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth", Namespace: "slurm"},
		Data: map[string][]byte{"slurm.key": []byte("secret")}})
	r.createObject(&v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm", Namespace: "slurm",
		UID: "uid-controller"},
		Spec: v1beta1.ControllerSpec{SlurmKeyRef: key}})
	r.writes = nil
	r.slurm = nodesettest.NewFakeSlurm(func() time.Time { return r.now })
	r.slurm.Before = func() error { return r.before() }
	r.slurm.After = func(err error) error { return r.after(err) }
	r.slurm.Poll()
	r.restart()
	return r
}

// restart makes another reconciler, that remembers nothing. Its Config has writes one
// after the other, for tests to count them.
func (r *testEnv) restart() { r.restartWithCache(r.Client) }

// restartWithCache makes a reconciler whose cache is not the store itself.
func (r *testEnv) restartWithCache(cache client.Client) {
	cfg := nodeset.DefaultConfig()
	cfg.Parallel, cfg.Image = r.parallel, r.image
	cfg.ComparesReleases = true
	r.Reconciler = nodeset.New(cache, r.Client, func(refs.ClusterKey) reading.SlurmCluster {
		if r.slurmMissing {
			return nil
		}
		return r.slurm
	}, r.events, nodeset.NewMetrics(prometheus.NewRegistry()), func() time.Time { return r.now }, cfg)
}

var request = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "slurm", Name: "gpu"}}

func (r *testEnv) reconcile() ctrl.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), request)
	r.expectCacheUnchanged()
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// pollAndReconcile lets time pass, has Slurm read and the NodeSet reconciled.
func (r *testEnv) pollAndReconcile() ctrl.Result {
	r.t.Helper()
	r.now = r.now.Add(10 * time.Second)
	r.slurm.Poll()
	return r.reconcile()
}

// kubelet schedules pods, runs them, and has workers register with Slurm.
func (r *testEnv) kubelet() {
	r.t.Helper()
	for _, pod := range r.pods() {
		if pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup {
			r.answerLookup(pod)
			continue
		}
		name := observed.SlurmName(pod)
		if n := r.slurm.Nodes[name]; n == nil {
			r.slurm.Nodes[name] = nodesettest.NewSlurmNode(name, "IDLE")
		} else if n.State.Base == slurm.NodeFuture {
			n.State.Base = slurm.NodeIdle
		}
		if pod.Spec.NodeName != "" {
			continue
		}
		pod.Spec.NodeName = "kube-" + pod.Labels[v1beta1.LabelPodIndex]
		r.must(r.Update(r.t.Context(), pod))
		nodesettest.SetRunning(pod, r.now)
		r.must(r.Status().Update(r.t.Context(), pod))
	}
}

// startWorkers reconciles until the NodeSet's workers exist, Slurm lists them and nothing changes.
func (r *testEnv) startWorkers() {
	r.t.Helper()
	for range 4 {
		r.pollAndReconcile()
		r.kubelet()
	}
	r.clearWrites()
}

// clearWrites drops the recorded writes and events.
func (r *testEnv) clearWrites() {
	r.writes, r.slurm.Calls = nil, nil
	for len(r.events.Events) > 0 {
		<-r.events.Events
	}
}

func (r *testEnv) takeEvents() []string {
	out := []string{}
	for len(r.events.Events) > 0 {
		out = append(out, <-r.events.Events)
	}
	return out
}

func (r *testEnv) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *testEnv) createObject(obj client.Object) { r.t.Helper(); r.must(r.Create(r.t.Context(), obj)) }

func (r *testEnv) nodeSet() *v1beta1.NodeSet {
	r.t.Helper()
	out := &v1beta1.NodeSet{}
	r.must(r.Get(r.t.Context(), request.NamespacedName, out))
	return out
}

// change changes the NodeSet.
func (r *testEnv) change(f func(*v1beta1.NodeSet)) {
	r.t.Helper()
	n := r.nodeSet()
	f(n)
	n.Generation++
	r.must(r.Update(r.t.Context(), n))
}

func (r *testEnv) scale(n int32) {
	r.t.Helper()
	r.change(func(s *v1beta1.NodeSet) { s.Spec.Replicas = &n })
}

func (r *testEnv) pods() []*corev1.Pod {
	r.t.Helper()
	list := &corev1.PodList{}
	r.must(r.List(r.t.Context(), list, client.InNamespace("slurm")))
	out := []*corev1.Pod{}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

func (r *testEnv) pod(name string) *corev1.Pod {
	r.t.Helper()
	out := &corev1.Pod{}
	r.must(r.Get(r.t.Context(), client.ObjectKey{Namespace: "slurm", Name: name}, out))
	return out
}

// podNames returns the names of the pods.
func (r *testEnv) podNames() string {
	r.t.Helper()
	var out []string
	for _, p := range r.pods() {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

// expectCondition fails unless a condition has the status and reason.
func (r *testEnv) expectCondition(kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	r.t.Helper()
	c := meta.FindStatusCondition(r.nodeSet().Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason {
		r.t.Errorf("the condition %s is %+v, not %s with %s", kind, c, status, reason)
		return &metav1.Condition{}
	}
	return c
}

// revisionOf is the revision label of a pod.
func revisionOf(p *corev1.Pod) string { return p.Labels[render.LabelRevision] }
