// Package loop runs the control loop for tests and benchmarks: a real Slurm, a
// real Kubernetes control plane with its stock HPA controller, slurm-metrics-adapter
// and slurm-operator as processes, and slurmds that follow a NodeSet's replicas.
//
// The slurmds stand for the worker pods: they start when spec.replicas rises, and
// when it falls they are drained, stopped and taken out of Slurm.
package loop
