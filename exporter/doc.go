// Package exporter turns the snapshots of a slurmclient.Cache into Prometheus
// metrics and serves them.
//
// What can be scraped is a table: a collector has families, a family has a name,
// labels and a function that reads values from a view of the snapshot (collector.go
// lists the collectors, one file holds each). The exposition of a collector is
// rendered, and compressed, when something it reads has changed; a scrape copies
// those bytes (page.go, handler.go) and adds how the exporter itself fares (self.go).
//
// A value that Slurm has not set, and whatever has not been read yet, gives no
// sample. When polls fail the last good values stay, slurm_up is 0 and the ages grow.
package exporter
