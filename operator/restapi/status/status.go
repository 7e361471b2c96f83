// Package status computes the status of RestApis. It is pure.
//
//	False Progressing ──► True Available
//	False InvalidSpec, InvalidCertificate, ReferenceNotFound, ObjectTaken: until a user corrects them
package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/deploymentstatus"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Of returns the next status of a RestApi from its last status and the Deployment of slurmrestd, which may be nil. The
// last argument is the problem that prevents a change of the objects, or nil.
func Of(now time.Time, r *v1beta1.RestApi, deployment *appsv1.Deployment, reported *problem.Error) v1beta1.RestApiStatus {
	out := *r.Status.DeepCopy()
	out.Selector = labels.SelectorFromSet(names.SlurmrestdSelector(r.Name)).String()
	out.Replicas = 0
	if deployment != nil {
		out.Replicas = deployment.Status.Replicas
	}
	ready := deploymentstatus.Ready(deployment, reported, deploymentstatus.Words{Owner: "slurmrestd",
		Pods: "pods of slurmrestd", AtZero: "nothing answers"})
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady, ready, r.Generation, now)
	return out
}

// SetAddress sets the address of a RestApi whose objects are applied. certificateEnd is nil without TLS.
func SetAddress(s *v1beta1.RestApiStatus, r *v1beta1.RestApi, certificateEnd *metav1.Time) {
	s.URL, s.CertificateExpiry = refs.RestAPIURL(r), certificateEnd
}
