// Package loop runs the control loop for tests and benchmarks: a real Slurm, a real Kubernetes
// control plane with its stock HPA controller, slurm-metrics-adapter and slurm-operator as
// processes, and slurmds that follow the replicas of a NodeSet.
//
// The slurmds stand for worker pods. They start when spec.replicas rises. When it falls, they are
// drained, stopped and deleted from Slurm.
package loop
