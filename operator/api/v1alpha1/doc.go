// Package v1alpha1 contains version v1alpha1 of the API group slinky.slurm.net: the kinds Cluster and
// NodeSet, and their conversion to and from v1beta1, the stored version.
//
// A Cluster is the same in both versions. A NodeSet differs in one field: here spec.clusterName names
// what the workers join; in v1beta1 spec.clusterRef or spec.controllerRef does. An annotation records
// which of the two it was.
//
// The API server serves this version only while the operator runs with its webhooks: the definitions
// are installed with the version switched off, and the operator switches it on when it can convert.
//
// +kubebuilder:object:generate=true
// +groupName=slinky.slurm.net
package v1alpha1
