package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// syncInterval is the interval between two reads of the NodeSet.
const syncInterval = 250 * time.Millisecond

func (l *Loop) workerName(i int) string { return fmt.Sprintf("%s-%d", l.config.NodeSet, i) }

// The ports of workers are below the ephemeral ports of the kernel. Each loop reserves a block of
// ports by listening on the last one.
const (
	firstPort = 16800
	portBlock = 2 * MaxWorkers
	maxLoops  = 20
)

// reservePorts returns the first port of a block that no other loop uses. The reservation ends when
// the listener is closed.
func reservePorts() (int, net.Listener, error) {
	var errs []error
	for i := range maxLoops {
		first := firstPort + i*portBlock
		last := fmt.Sprintf("127.0.0.1:%d", first+portBlock-1)
		listener, err := net.Listen("tcp", last) //nolint:noctx // it is closed with the loop
		if err == nil {
			return first, listener, nil
		}
		errs = append(errs, err)
	}
	return 0, nil, fmt.Errorf("no ports are left for workers: %w", errors.Join(errs...))
}

// workers starts and stops slurmds so that they follow the NodeSet's replicas.
type workers struct {
	*Loop
	basePort int // of the first worker
	running  []bool
	drained  []bool // by a scale-in that has not finished
	mu       sync.Mutex
	errs     []error
}

// followPatience is how long synchronization may fail, for example while slurmctld is down.
const followPatience = time.Minute

// followReplicas starts the workers. A lasting error ends them, and Close returns it.
func (l *Loop) followReplicas(ctx context.Context) error {
	port, listener, err := reservePorts()
	if err != nil {
		return err
	}
	l.workers = &workers{Loop: l, basePort: port, running: make([]bool, MaxWorkers), drained: make([]bool, MaxWorkers)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); l.workers.run(ctx) }()
	l.onClose(func() error {
		cancel()
		<-done
		return errors.Join(append(l.workers.errs, listener.Close())...)
	})
	return nil
}

func (w *workers) run(ctx context.Context) {
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	good := time.Now()
	for {
		if err := w.syncWorkers(ctx); err == nil {
			good = time.Now()
		} else if ctx.Err() == nil && time.Since(good) > followPatience {
			w.mu.Lock()
			w.errs = append(w.errs, err)
			w.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// followError returns the error that ended the workers, if any.
func (w *workers) followError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.errs...)
}

// syncWorkers starts and stops slurmds and writes their number to the NodeSet's status.
func (w *workers) syncWorkers(ctx context.Context) error {
	object, err := w.nodeSets().Get(ctx, w.config.NodeSet, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the NodeSet: %w", err)
	}
	want, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	count := 0
	for i := range w.running {
		if err := w.syncWorker(ctx, i, int64(i) < want); err != nil {
			return err
		}
		if w.running[i] {
			count++
		}
	}
	return w.patchStatus(ctx, object, count)
}

// syncWorker starts the worker, or stops it when it has no job left.
func (w *workers) syncWorker(ctx context.Context, i int, wanted bool) error {
	name := w.workerName(i)
	switch {
	case wanted && !w.running[i]:
		conf := fmt.Sprintf("%s Feature=%s Port=%d", workerConf, w.config.NodeSet, w.basePort+i)
		if err := w.Slurm.Start(ctx, "slurmd-"+name, "-Z", "--conf", conf); err != nil {
			return err
		}
		w.running[i] = true
	case wanted && w.drained[i]:
		if err := w.undrain(ctx, name); err != nil {
			return err
		}
		w.drained[i] = false
	case !wanted && w.running[i]:
		w.drained[i] = true
		gone, err := w.removeWorker(ctx, name)
		if err != nil {
			return err
		}
		w.running[i], w.drained[i] = !gone, !gone
	}
	return nil
}

// removeWorker drains a worker and, once it has no job, stops its slurmd and deletes its Slurm
// node.
func (w *workers) removeWorker(ctx context.Context, name string) (gone bool, err error) {
	state, err := w.stateOf(ctx, name)
	if err != nil {
		return false, err
	}
	if state == "" { // it has not registered and must not register now
		if err := w.Slurm.Stop(ctx, "slurmd-"+name); err != nil {
			return false, err
		}
		state, err = w.stateOf(ctx, name)
		return state == "", err
	}
	if !strings.HasPrefix(state, "drain") {
		_, err := w.Slurm.Run(ctx, "", "scontrol", "update", "nodename="+name, "state=drain", "reason=scale-in")
		return false, err
	}
	if state != "drained" {
		return false, nil
	}
	if err := w.Slurm.Stop(ctx, "slurmd-"+name); err != nil {
		return false, err
	}
	_, err = w.Slurm.Run(ctx, "", "scontrol", "delete", "nodename="+name)
	return err == nil, err
}

// undrain cancels a scale-in that has not finished.
func (w *workers) undrain(ctx context.Context, name string) error {
	state, err := w.stateOf(ctx, name)
	if err != nil || !strings.HasPrefix(state, "drain") {
		return err
	}
	_, err = w.Slurm.Run(ctx, "", "scontrol", "update", "nodename="+name, "state=undrain")
	return err
}

func (w *workers) stateOf(ctx context.Context, name string) (string, error) {
	out, err := w.Slurm.Run(ctx, "", "sinfo", "-h", "-N", "-n", name, "-o", "%T")
	state, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return strings.TrimRight(state, "*"), err
}

func (w *workers) patchStatus(ctx context.Context, object *unstructured.Unstructured, count int) error {
	now, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
	selector, _, _ := unstructured.NestedString(object.Object, "status", "selector")
	if now == int64(count) && selector != "" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"replicas": count, "selector": "app.kubernetes.io/instance=" + w.config.NodeSet, "nodeSetHash": "loop",
	}})
	if err != nil {
		return err
	}
	_, err = w.nodeSets().Patch(ctx, w.config.NodeSet, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "slurm-operator-nodeset"}, "status")
	return err
}

// objectClient reads and patches objects of the namespace.
type objectClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (
		*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
		subresources ...string) (*unstructured.Unstructured, error)
}

func (l *Loop) nodeSets() objectClient {
	nodeSets := schema.GroupVersionResource{Group: "slinky.slurm.net", Version: "v1beta1", Resource: "nodesets"}
	return l.objects.Resource(nodeSets).Namespace(l.config.Namespace)
}

func (l *Loop) hpas() objectClient {
	hpas := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	return l.objects.Resource(hpas).Namespace(l.config.Namespace)
}
