// Package v1alpha1 holds version v1alpha1 of the API group slinky.slurm.net: the
// kinds Cluster and NodeSet, and how they become those of v1beta1, the version that
// is stored, and again what they were.
//
// A Cluster is the same in both versions. A NodeSet differs in one thing: here
// spec.clusterName names what the workers join, there spec.clusterRef or
// spec.controllerRef does. Which of the two it was stands in an annotation.
//
// The API server serves this version only while the operator runs with its webhooks:
// the definitions are installed with it switched off, and the operator switches it on
// when it can convert.
//
// +kubebuilder:object:generate=true
// +groupName=slinky.slurm.net
package v1alpha1
