package wakeup

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// now is the time in tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// option changes an observation.
type option func(*observation)

// newObservation returns a NodeSet "gpu" that was created at zero, with an HPA that is asleep and
// has minReplicas 0 and maxReplicas 10, and without a demand reading, changed by the options.
func newObservation(options ...option) observation {
	s := observation{
		nodeSet: &v1beta1.NodeSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: "gpu", UID: "u1", Generation: 2,
				Annotations:   map[string]string{},
				ManagedFields: []metav1.ManagedFieldsEntry{replicasOwner("kubectl-create", "")}},
			Spec: v1beta1.NodeSetSpec{Replicas: new(int32)},
		},
		hpas: []autoscalingv2.HorizontalPodAutoscaler{*newHPA("gpu")},
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

// newHPA returns an HPA of NodeSet "gpu" that is asleep.
func newHPA(name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slurm", Name: name, UID: types.UID("uid-" + name)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1",
				Kind: "NodeSet", Name: "gpu"},
			MinReplicas: new(int32),
			MaxReplicas: 10,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "ScalingDisabled"},
		}},
	}
}

// isNew gives the NodeSet an unchanged spec, for which Slurm accepts jobs.
func isNew(s *observation) {
	s.nodeSet.Generation, s.nodeSet.CreationTimestamp = 1, metav1.NewTime(now.Add(-time.Minute))
	withSubmittable("True", "Records")(s)
	for i := range s.hpas {
		s.hpas[i].Spec.Metrics = []autoscalingv2.MetricSpec{requiredNodes()}
	}
}

func withSubmittable(status metav1.ConditionStatus, reason string) option {
	return func(s *observation) {
		v1beta1.SetCondition(&s.nodeSet.Status.Conditions, v1beta1.ConditionSubmittable, metav1.Condition{Status: status, Reason: reason}, 1, now)
	}
}

func withoutConditions(s *observation) { s.nodeSet.Status.Conditions = nil }

// withUnseenZero makes the zero begin after the last leader wrote the condition, with replicas, two minutes
// ago. The HPA was created one minute ago.
func withUnseenZero(s *observation) {
	withoutOwner(s)
	withWakeUpCondition("False", "NotNeeded", "it has replicas")(s)
	s.nodeSet.Generation = 2
	withConditionWrite(2 * time.Minute)(s)
	for i := range s.hpas {
		s.hpas[i].CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	}
}

// withConditionWrite sets when the condition WakeUp was written.
func withConditionWrite(age time.Duration) option {
	return func(s *observation) {
		entry := replicasOwner(FieldManager, "status")
		entry.Time, entry.FieldsV1 = new(metav1.NewTime(now.Add(-age))), metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)
		others := slices.DeleteFunc(s.nodeSet.ManagedFields,
			func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == entry.Subresource })
		s.nodeSet.ManagedFields = append(others, entry)
	}
}

func withHistory(h scalingHistory) option { return func(s *observation) { s.history = h } }

func withoutHPA(s *observation) { s.hpas = nil }

func withReplicas(n int32) option { return func(s *observation) { s.nodeSet.Spec.Replicas = &n } }

func withAnnotation(key, value string) option {
	return func(s *observation) { s.nodeSet.Annotations[key] = value }
}

// withOwner makes a manager that writes the object the only owner of spec.replicas.
func withOwner(manager string) option {
	return func(s *observation) {
		s.nodeSet.ManagedFields = []metav1.ManagedFieldsEntry{replicasOwner(manager, "")}
	}
}

// withoutOwner removes the owner of spec.replicas, as a zero through the scale subresource does.
func withoutOwner(s *observation) {
	entry := replicasOwner("kubectl-create", "")
	entry.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:extraConf":{}}}`)
	s.nodeSet.ManagedFields = []metav1.ManagedFieldsEntry{entry}
}

// withClaim makes the zero an autoscaler's.
func withClaim(s *observation) { withOwner(FieldManager)(s) }

func replicasOwner(manager, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: v1beta1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}
}

func withDemand(n int64, age time.Duration) option {
	return func(s *observation) { s.demand = &demandReading{required: n, at: now.Add(-age)} }
}

func withDemandError(err error) option {
	return func(s *observation) { s.demand = &demandReading{err: err} }
}

// withHPACondition sets a condition of the HPA.
func withHPACondition(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus,
	reason string) option {
	return func(s *observation) {
		conditions := &s.hpas[0].Status.Conditions
		for i := range *conditions {
			if (*conditions)[i].Type == kind {
				(*conditions)[i].Status, (*conditions)[i].Reason = status, reason
				return
			}
		}
		*conditions = append(*conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind, Status: status,
			Reason: reason})
	}
}

// withAwakeHPA sets the conditions of an HPA that scaled its target to zero itself.
func withAwakeHPA(s *observation) {
	withHPACondition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound")(s)
	withHPACondition(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero")(s)
}

// withNewHPA removes the conditions of the HPA, as if it was just created.
func withNewHPA(s *observation) { s.hpas[0].Status.Conditions = nil }

func withMaxReplicas(n int32) option { return func(s *observation) { s.hpas[0].Spec.MaxReplicas = n } }

func withMinReplicas(n int32) option { return func(s *observation) { s.hpas[0].Spec.MinReplicas = &n } }

func withIdleTime(d, sinceLast time.Duration) option {
	return func(s *observation) { s.idle = idleTime{since: now.Add(-d), last: now.Add(-sinceLast)} }
}

func withWakeUpCondition(status metav1.ConditionStatus, reason, message string) option {
	return func(s *observation) {
		meta.SetStatusCondition(&s.nodeSet.Status.Conditions, metav1.Condition{
			Type: v1beta1.ConditionWakeUp, Status: status, Reason: reason, Message: message, ObservedGeneration: 1,
		})
	}
}
