//go:build e2e

package plugin

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// kubeNode is the Kubernetes node that all workers are bound to.
const kubeNode = "kube-0"

// runWorkers stands in for the scheduler, kubelet and slurmd until the test ends: it binds
// worker pods, marks them ready, registers them with cluster alpha one at a time, and removes
// those that are being deleted.
func (r *env) runWorkers(t *testing.T) {
	t.Helper()
	r.applyManifest(t, "apiVersion: v1\nkind: Node\nmetadata: {name: "+kubeNode+"}\n")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := r.syncWorkers(ctx); err != nil && ctx.Err() == nil {
				t.Log("worker:", err)
			}
			r.alpha.CatchUp()
			r.beta.CatchUp()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func (r *env) syncWorkers(ctx context.Context) error {
	pods := r.client.CoreV1().Pods(hpc)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: v1beta1.LabelAppName + "=" + v1beta1.AppSlurmd})
	if err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	running := map[string]int{} // running workers of each NodeSet, from the first ordinal on
	for i := range list.Items {
		pod := &list.Items[i]
		set := pod.Labels[v1beta1.LabelAppInstance]
		first := pod.Labels[v1beta1.LabelPodIndex] == strconv.Itoa(running[set])
		if first && pod.Status.Phase == corev1.PodRunning {
			running[set]++
		}
		name := pod.Labels[v1beta1.LabelPodHostname]
		switch {
		case pod.DeletionTimestamp != nil:
			r.alpha.StopSlurmd(name)
			err = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		case pod.Spec.NodeName == "":
			err = pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
				Target: corev1.ObjectReference{Kind: "Node", Name: kubeNode}}, metav1.CreateOptions{})
		case first && pod.Status.Phase != corev1.PodRunning:
			r.alpha.StartSlurmd(slurmtest.NodeConf{Names: name, CPUs: 8, MemoryMiB: 16000, GRES: "gpu:h100:4",
				Features: []string{set}, Dynamic: true})
			r.alpha.Step(time.Second)
			err = r.markReady(ctx, pod)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *env) markReady(ctx context.Context, pod *corev1.Pod) error {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	_, err := r.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}
