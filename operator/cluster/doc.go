// Package cluster writes the status of Clusters: whether their slurmrestd answers, and
// what it is. It reads nothing itself: what it tells is what the shared client of the
// operator has read (package live).
//
//	Unknown NotObserved ──► True Available ◄──► False Unreachable, Unauthorized,
//	                                             Incompatible, ReferenceNotFound, InvalidSpec
package cluster
