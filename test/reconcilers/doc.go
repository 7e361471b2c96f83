// Package reconcilers runs the operator's reconcilers of Clusters and Tokens, and scontrol
// in pods, on real Kubernetes. Its tests are tagged e2e.
package reconcilers
