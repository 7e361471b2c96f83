// Package plugin tests kubectl-slurm against a real API server: with
// slurm-metrics-adapter and slurm-operator as processes of this machine that have the
// rights of their charts, a stock HPA controller, simulated Slurm clusters, and pods that
// a few lines of the test call running. Its tests carry the build tag e2e.
package plugin
