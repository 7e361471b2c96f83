// Package wakeup tests slurm-operator's wake-up from zero against a real Kubernetes control
// plane: kube-apiserver, the HPA controller of kube-controller-manager, kubectl and Helm. The
// test serves the number of required nodes through the custom metrics API, and a stand-in fills
// in the status that the scale subresource of a NodeSet reads. The tests carry the build tag e2e.
package wakeup
