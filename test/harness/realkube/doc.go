// Package realkube runs real Kubernetes clusters for tests.
//
// A cluster consists of stock etcd, kube-apiserver, kube-controller-manager and kube-scheduler,
// which run in their own pid namespace and listen on loopback. When the first process of the
// namespace ends, all of them end. The scripts in hack/kube do the work. The first cluster of a
// Kubernetes version takes ten more minutes, because Kubernetes and Helm are then built from their
// Go modules and kept in the user's cache folder. With a node, pods run: kubelet, containerd,
// kube-proxy and CoreDNS run in a root file system of Debian packages and in their own network. A default StorageClass
// gives each claim a folder of the node.
//
// A cluster requires Linux and the right to create namespaces; a node requires root.
// [MissingRequirement] and [MissingNodeRequirement] report what is missing. Tests that use the
// package carry the build tag e2e.
package realkube
