// Package realkube runs real Kubernetes clusters for tests.
//
// A cluster is etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, stock, in a pid namespace of their own on the loopback of
// this machine: ending its first process ends all of it. The scripts in
// hack/kube do the work; the first cluster of a Kubernetes version takes ten
// minutes more, since it is built then from its Go modules and kept in the
// user's cache folder, as is Helm.
//
// It needs Linux and the right to make namespaces; [Missing] tells. Tests that
// use it carry the build tag e2e.
package realkube
