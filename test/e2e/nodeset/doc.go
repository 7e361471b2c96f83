// Package nodeset provides the environment of the NodeSet operator's end-to-end tests: real Slurm
// and real Kubernetes with a real node. slurmctld and slurmrestd run in plain pods of the tests.
// Helm installs the operator and the adapter. The workers are the operator's own pods, scaled by a
// stock HorizontalPodAutoscaler.
package nodeset
