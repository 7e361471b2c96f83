package kube

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/holder"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// CheckMaker returns a *problem.Error if another operator made a workload, or gave one of ours its own pods, such as
// Slinky's for a Controller that this one has taken over. An apply would leave containers of both in its pods, if the API server does not refuse it.
func CheckMaker(live client.Object) error {
	switch live.(type) {
	case *appsv1.StatefulSet, *appsv1.Deployment:
	default:
		return nil
	}
	if live.GetAnnotations()[v1beta1.AnnotationAppliedHash] != "" && !holder.ChangedTemplate(live) {
		return nil
	}
	return problem.New(v1beta1.ReasonObjectTaken, "another operator made %s, whose pods go on as they are. To have them "+
		"replaced by those of this operator, delete it but not its pods: kubectl --namespace %s delete %s %s --cascade=orphan",
		describeObject(live), live.GetNamespace(), strings.ToLower(kindOf(live)), live.GetName())
}
