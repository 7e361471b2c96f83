// Package slurm defines the types of a Slurm cluster: nodes, jobs, partitions and others. They are the
// same for every version of slurmrestd's API.
//
// Values are plain data. A value that has been published, by a client or in a snapshot, is immutable
// and may be shared between goroutines and snapshots, including its slices and strings.
//
// Slurm distinguishes four cases that Go's zero value does not: absent (the answer had no such field),
// unset, infinite, and a number, which may be zero. Number and Float represent all four; their zero
// value is absent.
//
// The package imports no other package of this module.
package slurm
