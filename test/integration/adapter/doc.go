// Package adapter tests slurm-metrics-adapter as a process behind a real kube-apiserver, with the rights of its service
// account. The adapter reads simulated Slurm clusters over HTTP. The tests carry the build tag e2e.
package adapter
