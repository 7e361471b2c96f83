// Package soak runs a random workload on the demo's cluster during disturbances. Daemons are killed, pods are deleted and evicted, objects
// are updated, partitions and maxima change, and an administrator drains and resumes. Every job must end as its owner requested, at its
// first start.
//
// A seed determines the workload and the order of the disturbances (workload.go, disturbances_test.go). verdict.go judges Slurm's records
// and the samples in pure functions.
package soak
