// Package tally counts the nodes and jobs of a snapshot: by state, partition, user, account and
// QOS, with the CPUs, memory and GPUs that they have. Several metrics share each count.
//
// It is pure: the same snapshot gives the same counts. It does not modify what it reads, and its
// results do not change once they are returned.
package tally
