// Package names has the name, the selecting labels and the port of every object that the operator
// creates or looks for, so that the reconcilers that create an object and those that look for it
// agree.
//
// All functions are pure: the same input gives the same name, without a client, clock or context.
// Names are part of the interface. Users, manifests and running pods refer to them, and slurmd's
// arguments contain them, so another name would replace all workers. Names are never truncated,
// except those of pods in scaling mode DaemonSet, which end with a hash.
package names
