// Package hybrid tests Slurm clusters of which some daemons run in pods and others on hosts outside: a stock
// Kubernetes with a node and the operator's chart, and hosts in network namespaces of their own with real Slurm
// daemons. Each cell of docs/hybrid.md is one test, on each release.
//
// The tests have the build tag e2e.
package hybrid
