package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// RecordConfigApplied records an event of an object if its condition ConfigApplied says something new: that a
// configuration is in force, that the daemon refuses it, or that it is tried again.
func RecordConfigApplied(recorder events.EventRecorder, object client.Object, before, after []metav1.Condition) {
	recordApplied(recorder, object, before, after, v1beta1.ConditionConfigApplied, "Config")
}

// RecordAccountsApplied is RecordConfigApplied for the condition AccountsApplied.
func RecordAccountsApplied(recorder events.EventRecorder, object client.Object, before, after []metav1.Condition) {
	recordApplied(recorder, object, before, after, v1beta1.ConditionAccountsApplied, "Accounts")
}

// recordApplied records the event of a condition. The reasons of events begin with what.
func recordApplied(recorder events.EventRecorder, object client.Object, before, after []metav1.Condition,
	condition, what string) {
	last, now := meta.FindStatusCondition(before, condition), meta.FindStatusCondition(after, condition)
	if now == nil || last != nil && last.Message == now.Message {
		return
	}
	switch now.Reason {
	case v1beta1.ReasonApplied:
		recorder.Eventf(object, nil, corev1.EventTypeNormal, what+"Applied", "Reconfigure", "%s", now.Message)
	case v1beta1.ReasonRefused:
		recorder.Eventf(object, nil, corev1.EventTypeWarning, what+"Refused", "Reconfigure", "%s", now.Message)
	case v1beta1.ReasonPartitionInUse, v1beta1.ReasonNodeInUse, v1beta1.ReasonGresInUse, v1beta1.ReasonReservationInUse, v1beta1.ReasonUsersUnknown,
		v1beta1.ReasonSlurmdbdDown, v1beta1.ReasonTooManyJobs, v1beta1.ReasonNameTaken:
		recorder.Eventf(object, nil, corev1.EventTypeWarning, what+"Held", "Reconfigure", "%s", now.Message)
	case v1beta1.ReasonRetrying:
		recorder.Eventf(object, nil, corev1.EventTypeWarning, what+"NotApplied", "Reconfigure", "%s", now.Message)
	case v1beta1.ReasonDryRun:
		recorder.Eventf(object, nil, corev1.EventTypeNormal, what+"Tried", "Reconfigure", "%s", now.Message)
	}
}
