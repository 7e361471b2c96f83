// Package slurmclient reads and changes a Slurm cluster through slurmrestd.
//
// Client makes single requests in any API version from v0.0.40 on that the server offers, and
// returns the types of package slurm. Cache polls with a Client and keeps one immutable Snapshot
// that any number of readers share. Readers never block and never fail because a poll failed.
// Live reads and cached reads are different types on purpose.
//
// Errors are of type *Error and have a Code. The package does not depend on Kubernetes or
// Prometheus, and it does not log.
package slurmclient
