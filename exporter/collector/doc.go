// Package collector defines the metrics of Slurm, in one file per group of metrics: nodes.go,
// jobs.go, partitions.go and so on. The files compat_*.go define the names of other exporters.
//
// A metric is one row in the table of its collector: name, kind, help, labels and a function that
// appends samples for a tally.View. The functions are pure. Values that Slurm has not set, or that
// have not been read yet, have no sample.
//
// JobHistory is the exception: it compares snapshots and counts how jobs waited and ended.
package collector
