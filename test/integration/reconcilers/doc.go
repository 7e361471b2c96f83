// Package reconcilers tests the operator's reconcilers of Clusters and Tokens, the objects that the
// NodeSets of a cluster share, and scontrol in pods, on real Kubernetes. Its tests have build tag e2e.
package reconcilers
