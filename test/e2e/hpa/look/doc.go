// Package look tests dashboards, rules and the queries that users bring from other exporters. A
// real Prometheus runs the queries. It scrapes slurm-exporter on a real Slurm, and
// slurm-metrics-adapter, slurm-operator and the API server of a control loop in which jobs scale a
// NodeSet.
package look
