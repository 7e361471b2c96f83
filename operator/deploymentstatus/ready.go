// Package deploymentstatus computes the condition Ready of the kinds whose pods a Deployment runs. It is pure.
package deploymentstatus

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Words are the names of a kind's pods in messages.
type Words struct {
	// Owner names the daemon of the Deployment, such as "slurmrestd".
	Owner string
	// Pods are the pods, such as "pods of slurmrestd".
	Pods string
	// AtZero is the message for zero replicas, such as "nothing answers".
	AtZero string
}

// Ready returns status, reason and message of the condition Ready. deployment may be nil. reported is the problem
// that prevents a change of the objects, or nil.
func Ready(deployment *appsv1.Deployment, reported *problem.Error, words Words) metav1.Condition {
	progressing := func(format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonProgressing,
			Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case reported != nil:
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reported.Reason, Message: reported.Message}
	case deployment == nil:
		return progressing("the Deployment of %s is being created", words.Owner)
	case deployment.Status.ObservedGeneration < deployment.Generation:
		return progressing("Deployment %s is being updated", deployment.Name)
	case isAtZero(deployment):
		return progressing("spec.replicas is 0: %s", words.AtZero)
	case deployment.Status.AvailableReplicas == 0:
		return progressing("no pod of Deployment %s is available", deployment.Name)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1beta1.ReasonAvailable,
		Message: fmt.Sprintf("%d of %d %s are available", deployment.Status.AvailableReplicas, deployment.Status.Replicas,
			words.Pods)}
}

// isAtZero reports whether zero pods are wanted. Unset means one (apps/v1, DeploymentSpec).
func isAtZero(deployment *appsv1.Deployment) bool {
	replicas := deployment.Spec.Replicas
	return replicas != nil && *replicas == 0
}
