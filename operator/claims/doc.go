// Package claims gives each namespace to one of the slurm-operators of a Kubernetes cluster, so that two of them never write the same
// objects. Leader election is not enough for that: it chooses one of the replicas of an installation, and each installation has a Lease
// of its own.
//
// An operator reconciles objects of a namespace only while it holds the Lease LeaseName in it. An operator whose flags name the
// namespace is preferred to one that manages all: it asks for the namespace in annotations of the Lease, and the other one gives it up
// when no reconciliation runs in it.
//
// An operator that has lost a namespace starts again before it works there again, since what it remembers of it is not true any more. It
// does that at most once in ten minutes: whoever may write Leases in a namespace can bring it about.
package claims
