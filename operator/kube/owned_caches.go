package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// CacheOfOwned returns the options by which the manager's cache holds only the StatefulSets and Deployments
// that the operator makes. They are the same for all reconcilers, since a kind has one cache.
func CacheOfOwned() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}: {Label: selectNames(v1beta1.AppSlurmctld, v1beta1.AppSlurmdbd)},
		&appsv1.Deployment{}:  {Label: selectNames(v1beta1.AppSlurmrestd, v1beta1.AppLogin)},
	}
}

// selectNames selects the objects of some daemons.
func selectNames(names ...string) labels.Selector {
	requirement, err := labels.NewRequirement(v1beta1.LabelAppName, selection.In, names)
	if err != nil {
		panic(err) // the names are constants
	}
	return labels.NewSelector().Add(*requirement)
}
