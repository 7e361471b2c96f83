// Package exporter turns the snapshots of a slurmclient.Cache into Prometheus metrics and serves
// them.
//
// It assembles what programs use: an Exporter for one cluster, a Union of several, their handlers
// and the metrics of the exporter itself (exporter_metrics.go, client_metrics.go). Package
// collector defines the metrics of Slurm, in one file per group; package tally counts nodes and
// jobs for them; package exposition renders and serves them.
//
// Values that Slurm has not set, or that have not been read yet, have no sample. When polls
// fail, the last good values stay, slurm_up is 0 and the snapshot ages grow.
package exporter
