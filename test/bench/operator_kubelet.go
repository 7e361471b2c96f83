package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// The number of fake Kubernetes nodes, and how many pods the fake kubelets process at a time.
const (
	kubeNodeCount  = 25
	kubeletWorkers = 32
)

// kubelets are the fake kubelets of all Kubernetes nodes: one write makes a bound pod running and
// Ready, another removes a deleted pod.
type kubelets struct {
	client kubernetes.Interface
	pods   cache.SharedIndexInformer
	queue  workqueue.TypedRateLimitingInterface[string]
	// started and ended are called with a pod before Kubernetes is updated.
	started, ended func(*corev1.Pod)
	address        atomic.Uint32
	useLoopback    atomic.Bool // for the addresses of pods
	running        sync.Map    // pods by UID that the informer may not show as running yet
}

// startKubelets creates the Kubernetes nodes and runs their pods until ctx ends. The returned function waits until it
// has stopped.
func startKubelets(ctx context.Context, client kubernetes.Interface, started, ended func(*corev1.Pod)) (
	*kubelets, func(), error) {
	if err := createKubeNodes(ctx, client); err != nil {
		return nil, nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	k := &kubelets{
		client: client, pods: factory.Core().V1().Pods().Informer(), started: started, ended: ended,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	add := func(obj any) {
		if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
			k.queue.Add(key)
		}
	}
	if _, err := k.pods.AddEventHandler(
		cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }}); err != nil {
		return nil, nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), k.pods.HasSynced) {
		return nil, nil, ctx.Err()
	}
	var wg sync.WaitGroup
	for range kubeletWorkers {
		wg.Go(func() { k.runWorker(ctx) })
	}
	stop := context.AfterFunc(ctx, k.queue.ShutDown)
	return k, func() { stop(); k.queue.ShutDown(); wg.Wait(); factory.Shutdown() }, nil
}

// createKubeNodes creates large Ready nodes. They need no heartbeats, because the node lifecycle
// controller is switched off.
func createKubeNodes(ctx context.Context, client kubernetes.Interface) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("10k"), corev1.ResourceMemory: resource.MustParse("100Ti"),
		corev1.ResourcePods: resource.MustParse("10k"),
	}
	for i := range kubeNodeCount {
		name := fmt.Sprintf("machine%02d", i)
		if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{}); err != nil {
			return err
		}
		ready := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastHeartbeatTime: metav1.Now()}}
		patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: ready}})
		if err != nil {
			return err
		}
		if _, err := client.CoreV1().Nodes().PatchStatus(ctx, name, patch); err != nil {
			return err
		}
		// Admission taints new ones as not ready.
		if _, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"taints":null}}`),
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (k *kubelets) runWorker(ctx context.Context) {
	for {
		key, shutdown := k.queue.Get()
		if shutdown {
			return
		}
		if err := k.syncPod(ctx, key); err != nil {
			k.queue.AddRateLimited(key)
		} else {
			k.queue.Forget(key)
		}
		k.queue.Done(key)
	}
}

// syncPod brings one pod further.
func (k *kubelets) syncPod(ctx context.Context, key string) error {
	obj, there, err := k.pods.GetStore().GetByKey(key)
	if err != nil || !there {
		return err
	}
	pod := obj.(*corev1.Pod)
	switch {
	case pod.Spec.NodeName == "":
		return nil
	case pod.DeletionTimestamp != nil:
		k.ended(pod)
		err = k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	case pod.Status.Phase == corev1.PodPending:
		if _, again := k.running.Load(pod.UID); again {
			return nil
		}
		k.started(pod)
		if err = k.markRunning(ctx, pod); err == nil {
			k.running.Store(pod.UID, true)
		}
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// markRunning writes that the pod runs.
func (k *kubelets) markRunning(ctx context.Context, pod *corev1.Pod) error {
	now := metav1.NewTime(time.Now())
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, PodIP: k.nextAddress()}
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue,
			LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}

// nextAddress is an address that no pod had before.
func (k *kubelets) nextAddress() string {
	n := k.address.Add(1)
	network := 10
	if k.useLoopback.Load() {
		network = 127
	}
	return fmt.Sprintf("%d.%d.%d.%d", network, 128+n>>16&63, n>>8&255, n&255)
}

// podCount is how many pods there are.
func (k *kubelets) podCount() int { return len(k.pods.GetStore().ListKeys()) }
