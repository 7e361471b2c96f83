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

// settleDelay is how long changes are collected before Changed receives.
const settleDelay = 50 * time.Millisecond

// Watch caches the Kubernetes objects by list and watch. It uses client-go's dynamic informers,
// because they keep retrying while a kind is not installed. Objects are converted to Go types
// when they arrive.
type Watch struct {
	kinds   []*watchedKind
	changed chan struct{}
	signals chan struct{}
}

// watchedKind is a resource that is watched.
type watchedKind struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// failed is true once listing has failed.
	failed atomic.Bool
}

// Indices of the kinds in a Watch.
const (
	nodeSetKind = iota
	controllerKind
	clusterKind
	restAPIKind
	hpaKind
	namespaceKind
)

// NewWatch returns a Watch over all namespaces. Run starts it. onError is called with every
// error and may be nil.
func NewWatch(client dynamic.Interface, onError func(resource string, err error)) *Watch {
	w := &Watch{changed: make(chan struct{}, 1), signals: make(chan struct{}, 1)}
	ours := v1beta1.SchemeGroupVersion
	for _, k := range []struct {
		resource schema.GroupVersionResource
		convert  cache.TransformFunc
	}{
		{ours.WithResource("nodesets"), convertObject[v1beta1.NodeSet]},
		{ours.WithResource("controllers"), convertObject[v1beta1.Controller]},
		{ours.WithResource("clusters"), convertObject[v1beta1.Cluster]},
		{ours.WithResource("restapis"), convertObject[v1beta1.RestApi]},
		{autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
			convertObject[autoscalingv2.HorizontalPodAutoscaler]},
		{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
			convertObject[metav1.PartialObjectMetadata]},
	} {
		w.kinds = append(w.kinds, w.watchKind(client, k.resource, k.convert, onError))
	}
	return w
}

func (w *Watch) watchKind(
	client dynamic.Interface, r schema.GroupVersionResource, convert cache.TransformFunc,
	onError func(string, error),
) *watchedKind {
	k := &watchedKind{resource: r}
	k.informer = dynamicinformer.NewFilteredDynamicInformer(client, r, metav1.NamespaceAll, 0, cache.Indexers{},
		nil).Informer()
	// These calls fail only if the informer is already running.
	_ = k.informer.SetTransform(convert)
	_ = k.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		k.failed.Store(true)
		w.signal()
		if onError != nil {
			onError(r.Resource, err)
		}
	})
	_, _ = k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.signal() }, UpdateFunc: func(any, any) { w.signal() },
		DeleteFunc: func(any) { w.signal() },
	})
	return k
}

func (w *Watch) signal() {
	select {
	case w.signals <- struct{}{}:
	default:
	}
}

// Changed returns a channel that receives when objects have changed. It does not receive until
// listing every kind has succeeded or failed at least once.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, k := range w.kinds {
		wg.Go(func() { k.informer.RunWithContext(ctx) })
		wg.Go(func() {
			cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced)
			w.signal()
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.signals:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleDelay):
		}
		if w.Settled() == nil {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		}
	}
}

// Settled returns nil once listing every kind has succeeded or failed, and before that an error
// that names a missing kind.
func (w *Watch) Settled() error {
	for _, k := range w.kinds {
		if !k.informer.HasSynced() && !k.failed.Load() {
			return fmt.Errorf("%s have not been listed yet", k.resource.Resource)
		}
	}
	return nil
}

// Objects returns the current objects.
func (w *Watch) Objects() Objects {
	return Objects{
		NodeSets:    listOf[*v1beta1.NodeSet](w.kinds[nodeSetKind]),
		Controllers: listOf[*v1beta1.Controller](w.kinds[controllerKind]),
		Clusters:    listOf[*v1beta1.Cluster](w.kinds[clusterKind]),
		RestApis:    listOf[*v1beta1.RestApi](w.kinds[restAPIKind]),
		HPAs:        listOf[*autoscalingv2.HorizontalPodAutoscaler](w.kinds[hpaKind]),
		Namespaces:  listOf[*metav1.PartialObjectMetadata](w.kinds[namespaceKind]),
	}
}

func listOf[T any](k *watchedKind) []T {
	var out []T
	for _, obj := range k.informer.GetStore().List() {
		if t, ok := obj.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// unreadFields are large fields that the adapter does not read.
func unreadFields() [][]string {
	return [][]string{
		{"spec", "logfile"}, {"spec", "volumeClaimTemplates"}, {"spec", "slurmctld"},
		{"spec", "reconfigure"}, {"spec", "slurmrestd"}, {"spec", "service", "spec"}, {"metadata", "managedFields"},
	}
}

// trimTemplate removes the pod template except for the fields that determine worker names.
func trimTemplate(content map[string]any) {
	kept := map[string]any{}
	for _, field := range []string{"hostname", "hostNetwork"} {
		if v, ok, err := unstructured.NestedFieldNoCopy(content, "spec", "template", "spec",
			field); ok && err == nil {
			kept[field] = v
		}
	}
	unstructured.RemoveNestedField(content, "spec", "template")
	if len(kept) > 0 {
		_ = unstructured.SetNestedMap(content, kept, "spec", "template", "spec") // there is a spec
	}
}

// convertObject converts an unstructured object to type T, without the fields that the adapter
// does not read.
func convertObject[T any](obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // already converted
	}
	content := runtime.DeepCopyJSON(u.Object)
	trimTemplate(content)
	for _, path := range unreadFields() {
		unstructured.RemoveNestedField(content, path...)
	}
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, out); err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return out, nil
}
