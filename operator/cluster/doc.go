// Package cluster writes the status of Clusters: whether their slurmrestd answers, and its version.
// It sends no requests to Slurm: it reports what the operator's shared client has read (package
// live).
//
//	Unknown NotObserved ──► True Available ◄──► False Unreachable, Unauthorized,
//	                                             Incompatible, ReferenceNotFound, InvalidSpec
package cluster
