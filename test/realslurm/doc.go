// Package realslurm runs real Slurm clusters for tests.
//
// A cluster is slurmctld, slurmrestd, slurmds and, unless told otherwise,
// slurmdbd with MariaDB from Debian's packages, on the loopback of this
// machine, in namespaces of its own: ending its first process ends all of it.
// The scripts in hack/slurm do the work; the first cluster of a Slurm version
// takes about half a minute more, since its root is built then and kept in the
// user's cache folder.
//
// It needs root on a Debian-like Linux; [Missing] tells. Tests that use it
// carry the build tag e2e.
package realslurm
