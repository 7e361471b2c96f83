// Package refs resolves references to a cluster: the slurmctld and the slurmrestd of a Controller or Cluster,
// the keys that they need, or what is missing. It is pure; package access reads the Secrets and connects.
package refs
