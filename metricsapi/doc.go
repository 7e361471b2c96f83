// Package metricsapi answers custom.metrics.k8s.io and external.metrics.k8s.io
// from the snapshots of Slurm clusters, so that a stock HorizontalPodAutoscaler
// can scale NodeSets.
//
// What can be asked for is a table (catalogue.go): an entry has a name, the
// resources that have it, and a function of a Reading. A Reading is a snapshot
// with what was computed of it, the demand above all; it is made once for every
// snapshot (reading.go), so that a query only looks up. Which objects there are,
// and of which cluster each is, comes from a Directory; package clusters has one.
//
// A value carries the time at which Slurm was read. What is older than the limit,
// has never been read or can not be told is an error and never a number; what
// does not exist is "not found" (provider.go). A list is whole or an error.
package metricsapi
