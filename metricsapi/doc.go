// Package metricsapi answers custom.metrics.k8s.io and external.metrics.k8s.io from the snapshots of Slurm clusters, so
// that a stock HorizontalPodAutoscaler can scale NodeSets.
//
// The metrics are a table (catalogue.go): an entry has a name, the resources whose objects have the metric, and a
// function of a Reading. A Reading is a snapshot and the numbers computed from it, mainly the demand. It is computed
// once per snapshot (reading.go), so queries only look values up. A Directory lists the objects and their clusters;
// package clusters implements it.
//
// The timestamp of a value is when Slurm was read. A value that is too old, was never read or could not be computed is
// an error and never a number. Unknown metrics and objects are "not found" errors (provider.go). A list is complete or
// an error.
package metricsapi
