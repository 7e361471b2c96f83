// Package status computes the status of LoginSets. It is pure.
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until a user corrects them
package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/deploymentstatus"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Of returns the next status of a LoginSet from its last status and its Deployment, which may be nil. The
// last argument is the problem that prevents a change of the objects, or nil.
func Of(now time.Time, l *v1beta1.LoginSet, deployment *appsv1.Deployment,
	reported *problem.Error) v1beta1.LoginSetStatus {
	out := *l.Status.DeepCopy()
	out.Selector = labels.SelectorFromSet(names.LoginSelector(l.Name)).String()
	out.Replicas = 0
	if deployment != nil {
		out.Replicas = deployment.Status.Replicas
	}
	ready := deploymentstatus.Ready(deployment, reported, deploymentstatus.Words{Owner: "the login pods",
		Pods: "login pods", AtZero: "nobody can log in"})
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady, ready, l.Generation, now)
	v1beta1.SetFieldsIgnored(&out.Conditions, l.Spec.IgnoredFields(), l.Generation, now)
	return out
}
