// Package nodeset holds the end-to-end tests of the NodeSet operator: real Slurm and
// real Kubernetes with a real node. slurmctld and slurmrestd run in plain pods that
// the tests make; operator and adapter are installed by Helm; the workers are the
// operator's own pods, scaled by a stock HorizontalPodAutoscaler.
package nodeset
