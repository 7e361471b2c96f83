// Package status computes the status of LoginSets. It is pure.
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until somebody corrects them
package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Of returns the status of a LoginSet, from the last status, the Deployment of its pods (nil if there is
// none) and what keeps it from being as the LoginSet wants it (nil if nothing does).
func Of(now time.Time, l *v1beta1.LoginSet, deployment *appsv1.Deployment,
	reported *problem.Error) v1beta1.LoginSetStatus {
	out := *l.Status.DeepCopy()
	out.Selector = labels.SelectorFromSet(names.LoginSelector(l.Name, l.Spec.ControllerRef.Name)).String()
	out.Replicas = 0
	if deployment != nil {
		out.Replicas = deployment.Status.Replicas
	}
	ready := readyCondition(l, deployment, reported)
	ready.Type, ready.ObservedGeneration = v1beta1.ConditionReady, l.Generation
	ready.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&out.Conditions, ready)
	v1beta1.SetFieldsIgnored(&out.Conditions, l.Spec.IgnoredFields(), l.Generation, now)
	return out
}

// readyCondition returns what the condition Ready says.
func readyCondition(l *v1beta1.LoginSet, deployment *appsv1.Deployment, reported *problem.Error) metav1.Condition {
	condition := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case reported != nil:
		return condition(metav1.ConditionFalse, reported.Reason, "%s", reported.Message)
	case deployment == nil:
		return condition(metav1.ConditionFalse, v1beta1.ReasonProgressing,
			"the Deployment of the login pods is being created")
	case deployment.Status.ObservedGeneration < deployment.Generation:
		return condition(metav1.ConditionFalse, v1beta1.ReasonProgressing, "Deployment %s is being updated", deployment.Name)
	case l.Spec.Replicas != nil && *l.Spec.Replicas == 0:
		return condition(metav1.ConditionFalse, v1beta1.ReasonProgressing, "spec.replicas is 0: nobody can log in")
	case deployment.Status.AvailableReplicas == 0:
		return condition(metav1.ConditionFalse, v1beta1.ReasonProgressing, "no pod of Deployment %s is available",
			deployment.Name)
	}
	return condition(metav1.ConditionTrue, v1beta1.ReasonAvailable, "%d of %d login pods are available",
		deployment.Status.AvailableReplicas, deployment.Status.Replicas)
}
