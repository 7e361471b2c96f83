package behaviour

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// cacheOfWorkers lists the pods that nodeset.CacheOptions has in the cache.
type cacheOfWorkers struct{ client.Client }

func (c cacheOfWorkers) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels[v1beta1.LabelAppName] != v1beta1.AppSlurmd })
	}
	return err
}

// TestAWorkerWithoutItsLabelGetsItBack: without it the operator does not know the pod, which keeps its name for ever.
func TestAWorkerWithoutItsLabelGetsItBack(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.restartWithCache(cacheOfWorkers{r.Client})
	r.startWorkers()
	r.slurm.Start(7, "gpu-0")
	r.pollAndReconcile()
	pod := r.pod("gpu-0")
	delete(pod.Labels, v1beta1.LabelAppName)
	r.must(r.Update(t.Context(), pod))
	reconcileFor := func(d time.Duration) {
		for range d / (30 * time.Second) {
			r.now = r.now.Add(30 * time.Second)
			r.pollAndReconcile()
		}
	}
	reconcileFor(10 * time.Minute)
	if pod = r.pod("gpu-0"); pod.DeletionTimestamp != nil {
		t.Fatal("the worker is deleted under its job")
	}
	r.slurm.End(7)
	reconcileFor(10 * time.Minute)
	r.scale(2)
	reconcileFor(10 * time.Minute)
	if got := r.pod("gpu-0").Labels[v1beta1.LabelAppName]; got != v1beta1.AppSlurmd {
		t.Errorf("the label is %q", got)
	}
}
