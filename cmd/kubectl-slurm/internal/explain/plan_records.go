package explain

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// workerOf converts a pod to a worker of the plan, as far as the order of deletion needs it.
func workerOf(pod *corev1.Pod) plan.Worker {
	w := plan.Worker{
		Pod: pod.Name, UID: string(pod.UID), SlurmName: pod.Labels[v1beta1.LabelPodHostname],
		Created:  pod.CreationTimestamp.Time,
		KubeNode: pod.Spec.NodeName, Slot: plan.Slot{Ordinal: plan.NoOrdinal},
		Finished:  pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Running:   pod.Status.Phase == corev1.PodRunning,
		DrainMark: plan.DrainMark{Cause: pod.Annotations[v1beta1.AnnotationDrainCause]},
	}
	if w.SlurmName == "" {
		w.SlurmName = pod.Spec.NodeName
	}
	if ordinal, err := strconv.Atoi(pod.Labels[v1beta1.LabelPodIndex]); err == nil {
		w.Slot.Ordinal = ordinal
	}
	if pod.DeletionTimestamp != nil {
		w.DeletedAt = pod.DeletionTimestamp.Time
	}
	if pod.Annotations[v1beta1.AnnotationPodCordon] == "true" {
		w.CordonReason = "cordoned"
	}
	for _, c := range pod.Status.Conditions {
		w.Ready = w.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	w.DrainMark.Since, _ = time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationDrainStarted])
	w.DeletionCost, _ = strconv.Atoi(pod.Annotations[v1beta1.AnnotationPodDeletionCost])
	return w
}

// recordOf converts a Slurm node to a record of the plan, as far as the order of deletion needs it.
func recordOf(n *slurm.Node) plan.Record {
	s := n.State
	r := plan.Record{
		Name: n.Name, Future: s.Base == slurm.NodeFuture, Down: s.Base == slurm.NodeDown ||
			s.Has(slurm.NodeNotResponding),
		Drain: s.Has(slurm.NodeDrain) && !s.Has(slurm.NodeUndrain), Busy: s.MayHaveJobs(),
	}
	if n.LastBusy.IsSet() {
		r.IdleSince = n.LastBusy.Time()
	}
	return r
}
