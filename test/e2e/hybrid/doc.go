// Package hybrid tests Slurm clusters with some daemons in pods and others on hosts outside. It runs a stock Kubernetes
// with a node and the operator's chart, and hosts in their own network namespaces with real Slurm daemons. Each cell of
// docs/hybrid.md is one test, on each release.
//
// The tests have the build tag e2e.
package hybrid
