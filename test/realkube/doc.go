// Package realkube runs real Kubernetes clusters for tests.
//
// A cluster is etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, stock, in a pid namespace of their own on the loopback of
// this machine: ending its first process ends all of it. The scripts in
// hack/kube do the work; the first cluster of a Kubernetes version takes ten
// minutes more, since it is built then from its Go modules and kept in the
// user's cache folder, as is Helm. With a node, pods run: kubelet, containerd,
// kube-proxy and CoreDNS live in a root of Debian's packages and in a network of
// their own.
//
// It needs Linux and the right to make namespaces, and root for a node;
// [Missing] and [MissingNode] tell. Tests that use it carry the build tag e2e.
package realkube
