// Package soak runs a random workload on the cluster of the demo while everything that may happen to it does: daemons are killed,
// pods are deleted and evicted, objects are updated, partitions and maxima change, and an administrator drains and resumes.
// Every job must end as its owner asked, at its first start.
//
// The workload and the order of the disturbances are drawn from a seed (workload.go, disturbances_test.go); the verdict over what
// Slurm recorded and what was sampled is pure (verdict.go).
package soak
