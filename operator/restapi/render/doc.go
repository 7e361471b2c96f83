// Package render builds the Kubernetes objects of a RestApi: a ConfigMap with the slurm.conf of
// slurmrestd, its Service and its Deployment. All functions are pure: no client, no clock, no
// randomness; the same input gives the same bytes.
//
// slurmrestd has no key: its clients bring tokens, and slurmctld checks them. Its slurm.conf contains only
// the address of slurmctld. So no change of the cluster's configuration affects or breaks it. When its
// slurm.conf changes, the pods are replaced one after the other.
package render
