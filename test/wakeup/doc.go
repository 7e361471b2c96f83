// Package wakeup holds the tests of slurm-operator's wake-up from zero against a real
// Kubernetes control plane: its API server and the HPA controller of its
// kube-controller-manager, kubectl and Helm. The number of required nodes comes from
// the test, by the custom metrics API, and a stand-in fills in what the scale
// subresource of a NodeSet shows. They need the build tag e2e.
package wakeup
