package clusters

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// settle is how long changes are gathered before they are told.
const settle = 50 * time.Millisecond

// Watch keeps the objects of Kubernetes, by list and watch. It uses client-go's
// dynamic informers since those go on trying while a kind is not installed yet;
// what they hold is converted to types when it arrives.
type Watch struct {
	kinds   []*kind
	changed chan struct{}
	kick    chan struct{}
}

// kind is one resource that is watched.
type kind struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// failed is set once listing has failed.
	failed atomic.Bool
}

// The order of the kinds in a Watch.
const (
	nodeSets = iota
	controllers
	clusterKind
	restAPIs
	hpas
	namespaces
)

// NewWatch returns a Watch over all namespaces. Run starts it. onError is told what
// fails, each time, and may be nil.
func NewWatch(client dynamic.Interface, onError func(resource string, err error)) *Watch {
	w := &Watch{changed: make(chan struct{}, 1), kick: make(chan struct{}, 1)}
	ours := v1beta1.SchemeGroupVersion
	for _, k := range []struct {
		resource schema.GroupVersionResource
		convert  cache.TransformFunc
	}{
		{ours.WithResource("nodesets"), convert[v1beta1.NodeSet]},
		{ours.WithResource("controllers"), convert[v1beta1.Controller]},
		{ours.WithResource("clusters"), convert[v1beta1.Cluster]},
		{ours.WithResource("restapis"), convert[v1beta1.RestApi]},
		{autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"), convert[autoscalingv2.HorizontalPodAutoscaler]},
		{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, convert[metav1.PartialObjectMetadata]},
	} {
		w.kinds = append(w.kinds, w.watch(client, k.resource, k.convert, onError))
	}
	return w
}

func (w *Watch) watch(client dynamic.Interface, r schema.GroupVersionResource, convert cache.TransformFunc, onError func(string, error)) *kind {
	k := &kind{resource: r}
	k.informer = dynamicinformer.NewFilteredDynamicInformer(client, r, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	// These fail only for an informer that runs already.
	_ = k.informer.SetTransform(convert)
	_ = k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		k.failed.Store(true)
		w.touch()
		if onError != nil {
			onError(r.Resource, err)
		}
	})
	_, _ = k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.touch() }, UpdateFunc: func(any, any) { w.touch() }, DeleteFunc: func(any) { w.touch() },
	})
	return k
}

func (w *Watch) touch() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// Changed has something when the objects are others than before, and not before
// every kind was listed or has failed to be.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, k := range w.kinds {
		wg.Go(func() { k.informer.RunWithContext(ctx) })
		wg.Go(func() {
			cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced)
			w.touch()
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.kick:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		if w.Settled() == nil {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Settled returns nil once every kind was listed or has failed to be, else which
// one was not.
func (w *Watch) Settled() error {
	for _, k := range w.kinds {
		if !k.informer.HasSynced() && !k.failed.Load() {
			return fmt.Errorf("%s have not been listed yet", k.resource.Resource)
		}
	}
	return nil
}

// Objects returns what is there now.
func (w *Watch) Objects() Objects {
	return Objects{
		NodeSets:    listOf[*v1beta1.NodeSet](w.kinds[nodeSets]),
		Controllers: listOf[*v1beta1.Controller](w.kinds[controllers]),
		Clusters:    listOf[*v1beta1.Cluster](w.kinds[clusterKind]),
		RestApis:    listOf[*v1beta1.RestApi](w.kinds[restAPIs]),
		HPAs:        listOf[*autoscalingv2.HorizontalPodAutoscaler](w.kinds[hpas]),
		Namespaces:  listOf[*metav1.PartialObjectMetadata](w.kinds[namespaces]),
	}
}

func listOf[T any](k *kind) []T {
	var out []T
	for _, obj := range k.informer.GetStore().List() {
		if t, ok := obj.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// bulky are the parts of a spec that nobody here reads.
func bulky() [][]string {
	return [][]string{
		{"spec", "logfile"}, {"spec", "volumeClaimTemplates"}, {"spec", "slurmctld"},
		{"spec", "reconfigure"}, {"spec", "slurmrestd"}, {"spec", "service", "spec"}, {"metadata", "managedFields"},
	}
}

// trimTemplate keeps of the pods' template only what workers are named by.
func trimTemplate(content map[string]any) {
	kept := map[string]any{}
	for _, field := range []string{"hostname", "hostNetwork"} {
		if v, ok, err := unstructured.NestedFieldNoCopy(content, "spec", "template", "spec", field); ok && err == nil {
			kept[field] = v
		}
	}
	unstructured.RemoveNestedField(content, "spec", "template")
	if len(kept) > 0 {
		_ = unstructured.SetNestedMap(content, kept, "spec", "template", "spec") // there is a spec
	}
}

// convert makes an object of type T.
func convert[T any](obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // converted before
	}
	content := runtime.DeepCopyJSON(u.Object)
	trimTemplate(content)
	for _, path := range bulky() {
		unstructured.RemoveNestedField(content, path...)
	}
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, out); err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return out, nil
}
