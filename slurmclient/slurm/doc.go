// Package slurm holds the nouns of a Slurm cluster: nodes, jobs, partitions and
// the rest, the same for every version of slurmrestd's API.
//
// Values are plain data. Once a value has been published (by a client, in a
// snapshot) nobody writes to it again, so it may be shared between goroutines
// and between snapshots; slices and strings inside may be shared as well.
//
// Slurm tells four things apart that Go's zero value would blur: absent (the
// answer had no such field), unset, infinite, and a number which may be zero.
// Number and Float keep them apart; their zero value is Absent.
//
// The package imports nothing of this module.
package slurm
