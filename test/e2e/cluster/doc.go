// Package cluster tests Slurm clusters that the operator creates from custom resources, with real Slurm daemons in real
// pods: a stock Kubernetes with a node, where the operator runs as a process of the test.
//
// The tests have the build tag e2e.
package cluster
