// Package clusters finds the Slurm clusters of a Kubernetes cluster and reads them.
//
// Watch caches the objects: NodeSets, Controllers, Clusters, RestApis, HPAs and the names and
// labels of namespaces. planInventory is pure and decides which clusters exist, where their
// slurmrestds are, and which pools and objects belong to each of them. Registry starts and stops
// clusters accordingly: each cluster has a client, a cache and readings, and stops when its
// object is deleted. Secrets are read individually when they are needed; they are never listed
// or watched.
package clusters
