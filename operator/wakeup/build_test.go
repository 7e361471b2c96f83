package wakeup

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// now is the time in tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// option changes what is seen.
type option func(*seen)

// saw returns a NodeSet "gpu" that was created at zero, its HPA asleep with
// minReplicas 0 and maxReplicas 10, and no demand asked for, as the options change it.
func saw(options ...option) seen {
	s := seen{
		nodeSet: &v1beta1.NodeSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu", UID: "u1", Generation: 1, Annotations: map[string]string{},
				ManagedFields: []metav1.ManagedFieldsEntry{owner("kubectl-create", "")}},
			Spec: v1beta1.NodeSetSpec{Replicas: new(int32)},
		},
		hpas: []autoscalingv2.HorizontalPodAutoscaler{*hpa("gpu")},
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

// hpa returns an HPA of NodeSet "gpu" that is asleep.
func hpa(name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1", Kind: "NodeSet", Name: "gpu"},
			MinReplicas:    new(int32),
			MaxReplicas:    10,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "ScalingDisabled"},
		}},
	}
}

func at(n int32) option { return func(s *seen) { s.nodeSet.Spec.Replicas = &n } }

func annotated(key, value string) option {
	return func(s *seen) { s.nodeSet.Annotations[key] = value }
}

// ownedBy makes a manager the only owner of spec.replicas that writes the object.
func ownedBy(manager string) option {
	return func(s *seen) { s.nodeSet.ManagedFields = []metav1.ManagedFieldsEntry{owner(manager, "")} }
}

// unowned is what remains of the owners after a zero through the scale subresource.
func unowned(s *seen) {
	entry := owner("kubectl-create", "")
	entry.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:extraConf":{}}}`)
	s.nodeSet.ManagedFields = []metav1.ManagedFieldsEntry{entry}
}

// claimed is a zero that is an autoscaler's.
func claimed(s *seen) { ownedBy(FieldManager)(s) }

func owner(manager, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: v1beta1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}
}

func demands(n int64, age time.Duration) option {
	return func(s *seen) { s.demand = &reading{required: n, at: now.Add(-age)} }
}

func demandFails(err error) option {
	return func(s *seen) { s.demand = &reading{err: err} }
}

// hpaSays sets a condition of the HPA.
func hpaSays(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason string) option {
	return func(s *seen) {
		conditions := &s.hpas[0].Status.Conditions
		for i := range *conditions {
			if (*conditions)[i].Type == kind {
				(*conditions)[i].Status, (*conditions)[i].Reason = status, reason
				return
			}
		}
		*conditions = append(*conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind, Status: status, Reason: reason})
	}
}

// hpaAwake is what an HPA says that took the target to zero itself.
func hpaAwake(s *seen) {
	hpaSays(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound")(s)
	hpaSays(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero")(s)
}

// hpaNew is an HPA that was made a moment ago.
func hpaNew(s *seen) { s.hpas[0].Status.Conditions = nil }

func hpaFloor(n int32) option { return func(s *seen) { s.hpas[0].Spec.MinReplicas = &n } }

func idleFor(d, sinceLast time.Duration) option {
	return func(s *seen) { s.idle = idleTime{since: now.Add(-d), last: now.Add(-sinceLast)} }
}

func condition(status metav1.ConditionStatus, reason, message string) option {
	return func(s *seen) {
		meta.SetStatusCondition(&s.nodeSet.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionWakeUp, Status: status, Reason: reason, Message: message, ObservedGeneration: 1,
		})
	}
}
