package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// CacheOfDeployments returns the options by which the manager's cache holds only the Deployments that the
// operator makes. All reconcilers that make some have the same, since a kind has one cache.
func CacheOfDeployments() map[client.Object]cache.ByObject {
	ours, err := labels.NewRequirement(v1beta1.LabelAppName, selection.In,
		[]string{v1beta1.AppSlurmrestd, v1beta1.AppLogin})
	if err != nil {
		panic(err) // the labels are constants
	}
	return map[client.Object]cache.ByObject{&appsv1.Deployment{}: {Label: labels.NewSelector().Add(*ours)}}
}
