// Package clusters finds the Slurm clusters of a Kubernetes cluster and reads them.
//
// Watch keeps the objects: NodeSets, Controllers, Clusters, RestApis, the HPAs and
// the names of namespaces. arrange is the decision, pure: which clusters there are,
// where their slurmrestds are, which pools and objects belong to each. Registry
// brings what runs in line with that: a cluster has a client, a cache and readings,
// and ends with its object. Secrets are read one by one when they are needed, and
// never listed or watched.
package clusters
