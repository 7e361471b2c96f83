// Package adapter tests slurm-metrics-adapter as a process behind a real
// kube-apiserver, with the rights of its own service account, reading simulated
// Slurm clusters over HTTP. Its tests carry the build tag e2e.
package adapter
