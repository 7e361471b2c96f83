// Package v1beta1 holds the types of the API group slinky.slurm.net, version
// v1beta1, and the names (labels, annotations, finalizers, conditions) that go
// with them.
//
// The group, the kinds and their fields are those of Slinky's slurm-operator: a
// manifest that is valid there is valid here and means the same. What is ours is
// optional, and its comment says so: the kind Cluster, and single fields of NodeSets.
//
// Every kind is namespaced, has a status subresource, and refers to objects of its
// own namespace only. Defaults are in the schema, so an object that was read from
// an API server has them; one that was made in Go has not. Where a default is not
// Go's zero value, the field is a pointer, so that a written zero is kept.
//
// Fields whose types are Kubernetes' own large ones (pod, container, service and
// claim specs) are open in the schema and are of type Raw in Go: what the API server
// and we do not know is kept, and one that is malformed is an error of its reader.
//
// +kubebuilder:object:generate=true
// +groupName=slinky.slurm.net
package v1beta1
