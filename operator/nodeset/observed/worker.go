// Package observed converts pods and Slurm nodes into the workers and records of package plan. It is pure. The operator
// decides on this state and `kubectl slurm explain` explains it, so that the two cannot differ.
package observed

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// Worker converts the pod of a worker for the plan. kubeNode is the Kubernetes node where it runs; nil if missing or unknown.
// propagated are the conditions of Kubernetes nodes that explain a cordon.
func Worker(pod *corev1.Pod, kubeNode *corev1.Node, propagated []string) plan.Worker {
	w := plan.Worker{
		Pod: pod.Name, UID: string(pod.UID), SlurmName: SlurmName(pod), Revision: pod.Labels[render.LabelRevision],
		ClusterRef: pod.Labels[v1beta1.LabelCluster],
		Created:    pod.CreationTimestamp.Time, KubeNode: pod.Spec.NodeName,
		Slot:         plan.Slot{Ordinal: plan.NoOrdinal},
		Finished:     pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		CordonReason: cordonReasonOf(pod, kubeNode, propagated),
		DrainMark:    DrainMark(pod),
		NoAgent: !slices.ContainsFunc(pod.Spec.InitContainers,
			func(c corev1.Container) bool { return c.Name == podspec.ContainerKeys }),
	}
	if n, ok := names.ParseOrdinal(pod.Labels); ok {
		w.Slot.Ordinal = n
		if w.KubeNode == "" {
			w.PinnedTo = RequiredKubeNode(pod)
		}
	} else {
		w.Slot.KubeNode = RequiredKubeNode(pod)
	}
	if pod.DeletionTimestamp != nil {
		w.DeletedAt = pod.DeletionTimestamp.Time
	}
	w.NeverStarted = len(pod.Status.ContainerStatuses) == 0
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == render.ContainerSlurmd {
			w.NeverStarted = c.RestartCount == 0 && c.State.Running == nil && c.State.Terminated == nil &&
				c.LastTerminationState.Terminated == nil
			if w.Running = c.State.Running != nil; w.Running {
				w.RunningSince = c.State.Running.StartedAt.Time
			}
		}
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.PodReady:
			w.Ready, w.ReadySince = true, c.LastTransitionTime.Time
		case c.Type == corev1.PodScheduled:
			w.Scheduled = c.LastTransitionTime.Time
		case c.Type == v1beta1.PodConditionRegistered:
			w.Registered = c.LastTransitionTime.Time
		}
	}
	w.DeletionCost = deletionCostOf(pod)
	return w
}

// deletionCostOf returns the pod deletion cost of a pod. A value that is not a number, or too large for one, counts as absent.
func deletionCostOf(pod *corev1.Pod) int {
	cost, err := strconv.Atoi(pod.Annotations[v1beta1.AnnotationPodDeletionCost])
	if err != nil {
		return 0
	}
	return cost
}

// RequiredKubeNode returns the Kubernetes node where a pod must run, or where it runs if it may run anywhere.
func RequiredKubeNode(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return pod.Spec.NodeName
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return pod.Spec.NodeName
	}
	for _, term := range required.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return pod.Spec.NodeName
}

// SlurmName returns the name of a worker's Slurm node, or an empty string if it is not known yet. It prefers the name that
// slurmd was started with, if the pod's spec shows it, since any user may edit the label.
func SlurmName(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if name, isShown := render.SlurmNameIn(pod, &pod.Spec.Containers[i]); isShown {
			return name
		}
	}
	label := pod.Labels[v1beta1.LabelPodHostname]
	if pod.Spec.HostNetwork {
		return cmp.Or(label, pod.Spec.NodeName)
	}
	return cmp.Or(pod.Spec.Hostname, label)
}

// DrainMark reads the drain mark of a pod. An unreadable time counts as unset.
func DrainMark(pod *corev1.Pod) plan.DrainMark {
	n := plan.DrainMark{Cause: pod.Annotations[v1beta1.AnnotationDrainCause],
		Protect: pod.Labels[v1beta1.LabelPodProtect] == "true"}
	n.Since, _ = time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationDrainStarted])
	n.Drained, _ = time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationDrained])
	n.RegisterAgain, _ = time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationRegisterAgain])
	n.Deadline, _ = time.Parse(time.RFC3339, pod.Annotations[v1beta1.AnnotationPodDeadline])
	return n
}

// DrainMarkPatch returns the merge patch of a pod's metadata from one drain mark to another. own
// are the annotations of the template: when the protection ends, the annotations that protect a
// worker return to their values there.
func DrainMarkPatch(n, was plan.DrainMark, own map[string]string) map[string]any {
	text := func(on bool, value string) any {
		if !on {
			return nil
		}
		return value
	}
	annotations := map[string]any{
		v1beta1.AnnotationDrainCause:    text(n.Cause != "", n.Cause),
		v1beta1.AnnotationDrainStarted:  text(n.Cause != "", n.Since.UTC().Format(time.RFC3339)),
		v1beta1.AnnotationDrained:       text(!n.Drained.IsZero(), n.Drained.UTC().Format(time.RFC3339)),
		v1beta1.AnnotationRegisterAgain: text(!n.RegisterAgain.IsZero(), n.RegisterAgain.UTC().Format(time.RFC3339)),
		v1beta1.AnnotationPodDeadline:   text(!n.Deadline.IsZero(), n.Deadline.UTC().Format(time.RFC3339)),
	}
	for name, value := range v1beta1.ProtectingAnnotations() {
		users, has := own[name]
		switch {
		case n.Protect:
			annotations[name] = value
		case was.Protect:
			annotations[name] = text(has, users)
		}
	}
	return map[string]any{"metadata": map[string]any{
		"labels": map[string]any{v1beta1.LabelPodProtect: text(n.Protect, "true")}, "annotations": annotations,
	}}
}

// IsCordonedByUs reports whether the operator cordoned a Kubernetes node.
func IsCordonedByUs(node *corev1.Node) bool {
	return node.Spec.Unschedulable && node.Annotations[v1beta1.AnnotationCordonedFor] != ""
}

// maxReasonLength is the number of characters of an annotation that become a drainReason.
const maxReasonLength = 256

// cordonReasonOf returns why a user or the Kubernetes node wants the worker drained.
func cordonReasonOf(pod *corev1.Pod, kubeNode *corev1.Node, propagated []string) string {
	if pod.Annotations[v1beta1.AnnotationPodCordon] == "true" {
		return "pod " + pod.Name + " is cordoned"
	}
	// Our own cordon follows a drain in Slurm, and must not cause one.
	if kubeNode == nil || !kubeNode.Spec.Unschedulable || IsCordonedByUs(kubeNode) {
		return ""
	}
	if text := CleanReason(kubeNode.Annotations[v1beta1.AnnotationNodeCordonReason]); text != "" {
		return text
	}
	var why []string
	for _, name := range propagated {
		for _, c := range kubeNode.Status.Conditions {
			if string(c.Type) == name && c.Status == corev1.ConditionTrue {
				why = append(why, strings.TrimSpace(CleanReason(fmt.Sprintf("%s %s", c.Type, c.Message))))
			}
		}
	}
	if len(why) > 0 {
		return CleanReason(strings.Join(why, "; "))
	}
	return "Kubernetes node " + kubeNode.Name + " is cordoned"
}

// CleanReason keeps the characters of a text that a drainReason may contain.
func CleanReason(text string) string {
	out := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == '\'', r == '"':
			return -1
		}
		return r
	}, text)))
	return string(out[:min(len(out), maxReasonLength)])
}
