// Package exporter turns the snapshots of a slurmclient.Cache into Prometheus
// metrics and serves them.
//
// Metrics are defined in tables: a collector has families; a family has a name, labels and a
// function that reads values from a snapshot and the sums over it. collector.go lists the
// collectors, and each collector has its own file. A collector's exposition is rendered and
// compressed when one of the resources that it reads has changed. A scrape copies those bytes
// (page.go, handler.go) and adds metrics of the exporter itself (exporter_metrics.go).
//
// Values that Slurm has not set, or that have not been read yet, have no sample. When polls
// fail, the last good values stay, slurm_up is 0 and the snapshot ages grow.
package exporter
