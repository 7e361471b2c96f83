// Package realslurm runs real Slurm clusters for tests.
//
// A cluster consists of slurmctld, slurmrestd, slurmds and, by default, slurmdbd with MariaDB, all
// from Debian packages. They listen on loopback and run in their own namespaces; when the first
// process of these ends, all of them end. The scripts in hack/slurm do the work. The first cluster
// of a Slurm version takes about half a minute more, because its root file system is then built and
// kept in the user's cache folder.
//
// A cluster requires root on a Debian-like Linux; [MissingRequirement] reports what is missing.
// Tests that use the package carry the build tag e2e.
package realslurm
