// Package claims gives each namespace to one of the slurm-operators of a Kubernetes cluster, so that two of them never write the same
// objects. Leader election is not enough: it chooses one of the replicas of an installation, and each installation has its own Lease.
//
// An operator reconciles objects of a namespace only while it holds the Lease LeaseName in it. An operator whose flags name the
// namespace takes precedence over one that manages all. It requests the namespace in annotations of the Lease. The other one releases
// the Lease when no reconciliation runs in the namespace.
//
// An operator that has lost a namespace restarts before it works there again, since its memory of the namespace is out of date. It
// restarts at most once in ten minutes: any user who may write Leases in a namespace can cause it.
package claims
