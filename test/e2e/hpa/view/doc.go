// Package view tests view.slinky.slurm.net with kubectl and client-go, as people use it. It runs a real kube-apiserver,
// the adapter as a process with the rights that its chart grants, and simulated or real Slurm. The tests carry the
// build tag e2e.
package view
