// Package slurmclient reads and steers a Slurm cluster through slurmrestd.
//
// Client makes single requests, in any API version from v0.0.40 on that the
// server offers, and returns the nouns of package slurm. Cache polls with a
// Client and keeps one immutable Snapshot that any number of readers share: they
// never block, and never fail because a poll failed. Live reads and cached reads
// are different types on purpose.
//
// Errors are *Error with a Code. The package knows no Kubernetes, no Prometheus
// and writes no log.
package slurmclient
