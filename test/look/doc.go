// Package look holds the tests of what people look at: dashboards and rules. Their
// queries are run by a real Prometheus that scrapes slurm-exporter on a real Slurm, and
// slurm-metrics-adapter, slurm-operator and the API server of a loop in which jobs move
// a NodeSet; so are the queries that people have from other exporters.
package look
