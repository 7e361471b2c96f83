// Package view tests view.slinky.slurm.net as people use it: kubectl and client-go, a
// real kube-apiserver, the adapter as a process with the rights that its chart gives it,
// and Slurm simulated or real. Its tests carry the build tag e2e.
package view
