package nodeset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// noon is when tests begin.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// nodeSetUID is the UID of NodeSet gpu.
const nodeSetUID = "uid-gpu"

// gpuNodeSet is NodeSet gpu with so many workers, of Controller slurm.
func gpuNodeSet(replicas int32, change ...func(*v1beta1.NodeSet)) *v1beta1.NodeSet {
	n := &v1beta1.NodeSet{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", Namespace: "slurm", UID: nodeSetUID, Generation: 1,
			CreationTimestamp: metav1.NewTime(noon)},
		Spec: v1beta1.NodeSetSpec{ControllerRef: &corev1.LocalObjectReference{Name: "slurm"},
			Replicas: &replicas},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

// withMaxReplicas sets spec.maxReplicas, and the CPUs of a worker.
func withMaxReplicas(replicas int32) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.MaxReplicas, n.Spec.ExtraConf = &replicas, "CPUs=4" }
}

func withDrainPolicy(p v1beta1.DrainPolicy) func(*v1beta1.NodeSet) {
	return func(n *v1beta1.NodeSet) { n.Spec.DrainPolicy = &p }
}

// workerPod returns a Ready pod of NodeSet gpu on a Kubernetes node.
func workerPod(ordinal int, change ...func(*corev1.Pod)) *corev1.Pod {
	name := fmt.Sprintf("gpu-%d", ordinal)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "slurm", UID: types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
			Labels: map[string]string{v1beta1.LabelPodIndex: fmt.Sprint(ordinal), v1beta1.LabelPodHostname: name,
				render.LabelRevision: "new"},
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("kube-%d", ordinal)},
	}
	setRunning(p, noon.Add(-time.Hour))
	for _, c := range change {
		c(p)
	}
	return p
}

// setRunning makes a pod's slurmd run and Ready.
func setRunning(p *corev1.Pod, since time.Time) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: render.ContainerSlurmd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(since)}}
}

func withAnnotation(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

// newKubeNode returns a Kubernetes node.
func newKubeNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name},
		Annotations: map[string]string{}}}
	for _, c := range change {
		c(n)
	}
	return n
}

func setCordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// newSlurmNode is a dynamic Slurm node in a state such as "IDLE".
func newSlurmNode(name string, state ...string) *slurm.Node {
	return &slurm.Node{Name: name, State: slurm.ParseNodeState(append(state, "DYNAMIC_NORM")...)}
}

// newObservation is what was seen of NodeSet gpu: idle workers of the newest revision, and a
// fresh reading.
func newObservation(workers int, change ...func(*observation)) *observation {
	s := &observation{
		nodeSet: gpuNodeSet(int32(workers)), clusterRef: "slurm", revision: render.Revision{Hash: "new"},
		pods: map[string]*corev1.Pod{}, kubeNodes: map[string]*corev1.Node{}, slurmNodes: map[string]*slurm.Node{},
		expectations: &nodeSetExpectations{pendingWrites: map[string]pendingWrite{}},
		slurm: plan.SlurmReading{Connected: true, Known: true, Fresh: true, TotalNodes: workers,
			Records: map[string]plan.Record{}, Work: map[string]occupancy.Work{}},
	}
	for i := range workers {
		pod := workerPod(i)
		s.pods[pod.Name] = pod
		s.workers = append(s.workers, workerOf(pod, nil, nil))
		s.slurm.Records[pod.Name] = plan.Record{Name: pod.Name, Dynamic: true, OwnerUID: nodeSetUID}
	}
	top := workers
	s.desired = plan.Desired{UID: nodeSetUID, Replicas: workers, MaxWorkers: &top, CanCreateRecords: true,
		Revision: "new", SlurmName: func(i int) string { return fmt.Sprintf("gpu-%d", i) }}
	for _, c := range change {
		c(s)
	}
	return s
}
