// Package nodesettest makes the objects that tests of NodeSets need.
package nodesettest

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Noon is when tests begin.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NodeSetUID is the UID of NodeSet gpu.
const NodeSetUID = "uid-gpu"

// NewNodeSet returns NodeSet gpu of Controller slurm, with the given number of workers.
func NewNodeSet(replicas int32, change ...func(*v1beta1.NodeSet)) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: "slurm", UID: NodeSetUID, Generation: 1,
			CreationTimestamp: metav1.NewTime(Noon)},
		Spec: v1beta1.NodeSetSpec{ControllerRef: &corev1.LocalObjectReference{Name: "slurm"},
			Replicas: &replicas},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

// WithMaxReplicas sets spec.maxReplicas, and the CPUs of a worker.
func WithMaxReplicas(replicas int32) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.MaxReplicas, n.Spec.ExtraConf = &replicas, "CPUs=4" }
}

// WithDrainPolicy sets spec.drainPolicy.
func WithDrainPolicy(p v1beta1.DrainPolicy) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.DrainPolicy = &p }
}

// NewWorkerPod returns a Ready pod of NodeSet gpu on a Kubernetes node.
func NewWorkerPod(ordinal int, change ...func(*corev1.Pod)) *corev1.Pod {
	name := fmt.Sprintf("gpu-%d", ordinal)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "slurm", UID: types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(Noon.Add(-time.Hour)),
			Labels: map[string]string{v1beta1.LabelPodIndex: fmt.Sprint(ordinal), v1beta1.LabelPodHostname: name,
				render.LabelRevision: "new"},
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("kube-%d", ordinal)},
	}
	SetRunning(p, Noon.Add(-time.Hour))
	for _, c := range change {
		c(p)
	}
	return p
}

// SetRunning makes a pod's slurmd run and Ready.
func SetRunning(p *corev1.Pod, since time.Time) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: render.ContainerSlurmd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{
			StartedAt: metav1.NewTime(since)}}},
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(since)}}
}

// WithAnnotation sets an annotation of a pod.
func WithAnnotation(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

// NewKubeNode returns a Kubernetes node.
func NewKubeNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name},
		Annotations: map[string]string{}}}
	for _, c := range change {
		c(n)
	}
	return n
}

// SetCordoned cordons a Kubernetes node.
func SetCordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// NewSlurmNode is a dynamic Slurm node in a state such as "IDLE".
func NewSlurmNode(name string, state ...string) *slurm.Node {
	return &slurm.Node{Name: name, State: slurm.ParseNodeState(append(state, "DYNAMIC_NORM")...)}
}
