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
// configuration is in force, or that the daemon refuses it.
func RecordConfigApplied(recorder events.EventRecorder, object client.Object, before, after []metav1.Condition) {
	last := meta.FindStatusCondition(before, v1beta1.ConditionConfigApplied)
	now := meta.FindStatusCondition(after, v1beta1.ConditionConfigApplied)
	if now == nil || last != nil && last.Message == now.Message {
		return
	}
	switch now.Reason {
	case v1beta1.ReasonApplied:
		recorder.Eventf(object, nil, corev1.EventTypeNormal, "ConfigApplied", "Reconfigure", "%s", now.Message)
	case v1beta1.ReasonRefused:
		recorder.Eventf(object, nil, corev1.EventTypeWarning, "ConfigRefused", "Reconfigure", "%s", now.Message)
	}
}
