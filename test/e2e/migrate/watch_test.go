//go:build e2e

package migrate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// watchInterval is the interval between two readings of the NodeSet and its autoscalers.
const watchInterval = 200 * time.Millisecond

// watch reads the NodeSet and its autoscalers repeatedly through a whole page.
type watch struct {
	objects dynamic.Interface

	mu     sync.Mutex
	floor  int // workers that running jobs need
	looks  int
	faults []string
}

// look is what a watch sees at one moment.
type look struct {
	replicas      int
	hpas          []string // those that scale the NodeSet
	scaledObjects int
}

// faultsOf returns what must not be at any time.
func faultsOf(l look, floor int) []string {
	var out []string
	if l.replicas < floor {
		out = append(out, fmt.Sprintf("%d workers, and jobs need %d", l.replicas, floor))
	}
	if len(l.hpas) > 1 {
		out = append(out, fmt.Sprintf("two HPAs scale the NodeSet: %v", l.hpas))
	}
	if l.scaledObjects > 0 && len(l.hpas) > 0 && !strings.HasPrefix(l.hpas[0], "keda-hpa-") {
		out = append(out, fmt.Sprintf("a ScaledObject and an HPA scale the NodeSet: %v", l.hpas))
	}
	return out
}

// startWatch watches until the test ends, which fails if there was a fault.
func (e *env) startWatch(t *testing.T) *watch {
	t.Helper()
	config, err := e.Kube.RESTConfig()
	must(t, err)
	w := &watch{}
	w.objects, err = dynamic.NewForConfig(config)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		for _, fault := range w.faults {
			t.Error(fault)
		}
		if w.looks < 100 {
			t.Errorf("the watch looked only %d times", w.looks)
		}
		t.Logf("the watch looked %d times", w.looks)
	})
	return w
}

// require sets how many workers the running jobs need from now on.
func (w *watch) require(workers int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.floor = workers
}

func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		l, err := w.observe(ctx)
		if ctx.Err() != nil {
			return
		}
		w.note(l, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note adds the faults of a look, each only once.
func (w *watch) note(l look, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	found := faultsOf(l, w.floor)
	if err != nil {
		found = []string{"watching: " + err.Error()}
	}
	for _, fault := range found {
		if n := len(w.faults); n == 0 || !strings.HasSuffix(w.faults[n-1], fault) {
			w.faults = append(w.faults, time.Now().Format(time.TimeOnly)+": "+fault)
		}
	}
}

func (w *watch) observe(ctx context.Context) (look, error) {
	var l look
	nodeSets := w.objects.Resource(schema.GroupVersionResource{Group: "slinky.slurm.net", Version: "v1beta1", Resource: "nodesets"})
	object, err := nodeSets.Namespace(namespace).Get(ctx, nodeSet, metav1.GetOptions{})
	if err != nil {
		return l, err
	}
	replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	l.replicas = int(replicas)
	scaledObjects := schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}
	// Read the ScaledObjects first: an HPA that is created between both readings is created after them.
	list, err := w.objects.Resource(scaledObjects).Namespace(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case err == nil:
		l.scaledObjects = len(list.Items)
	case !errors.IsNotFound(err):
		return l, err
	}
	hpas := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	list, err = w.objects.Resource(hpas).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return l, err
	}
	for _, hpa := range list.Items {
		if name, _, _ := unstructured.NestedString(hpa.Object, "spec", "scaleTargetRef", "name"); name == nodeSet {
			l.hpas = append(l.hpas, hpa.GetName())
		}
	}
	return l, nil
}
