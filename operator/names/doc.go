// Package names has the name, the selecting labels and the port of every object that the operator creates or
// reads, so that all reconcilers agree on them.
//
// All functions are pure: the same input gives the same name, without a client, clock or context. Names are
// part of the interface. Users, manifests and running pods refer to them, and slurmd's arguments contain
// them, so another name would replace all workers. Names are never truncated, except pod names in scaling
// mode DaemonSet, which end with a hash.
package names
