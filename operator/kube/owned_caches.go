package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// CacheOfOwned returns the options by which the manager's cache holds only the StatefulSets and Deployments
// that the operator makes, and the ConfigMaps of the namespaces in which it may run daemons, empty for all. They
// are the same for all reconcilers, since a kind has one cache.
func CacheOfOwned(namespaces []string) map[client.Object]cache.ByObject {
	var in map[string]cache.Config
	for _, namespace := range namespaces {
		if in == nil {
			in = map[string]cache.Config{}
		}
		in[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Namespaces: in},
		&appsv1.StatefulSet{}: {Namespaces: in,
			Label: selectNames(v1beta1.AppSlurmctld, v1beta1.AppSlurmdbd)},
		&appsv1.Deployment{}: {Namespaces: in, Label: selectNames(v1beta1.AppSlurmrestd, v1beta1.AppLogin)},
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
