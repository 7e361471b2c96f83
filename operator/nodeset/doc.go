// Package nodeset reconciles NodeSets: it runs their workers, pods whose slurmd joins a Slurm
// cluster.
//
// A Reconciler reconciles one NodeSet at a time. observe reads everything: the objects, the pods, the
// Kubernetes nodes and the newest reading of Slurm. All NodeSets of a cluster share the reading, so it causes
// no request. Package plan decides, and keeps the safety promise. Package render builds objects. apply
// writes. The pod conditions that show the Slurm state and the NodeSet's status are computed purely, and
// written only when they differ.
//
// State that must survive the process is recorded on the pods (v1beta1.AnnotationDrainCause). The operator
// may be killed at any moment and continues where it stopped.
package nodeset
