// Package nodeset keeps the workers of NodeSets: pods that run slurmd and join a
// Slurm cluster.
//
// A Reconciler looks at one NodeSet at a time. observe gathers everything: the
// objects, the pods, the Kubernetes nodes and the newest reading of Slurm, which is
// shared by all NodeSets of a cluster and causes no request. package plan decides,
// and keeps the safety promise; package render makes objects; apply writes. What a
// pod shows of its Slurm node (mirror) and the NodeSet's status are computed purely
// and written only when they differ.
//
// What must outlive the process is noted on the pods (v1beta1.AnnotationDrainCause):
// the operator may be killed at any moment and goes on where it was.
package nodeset
