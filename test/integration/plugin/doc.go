// Package plugin tests kubectl-slurm against a real API server. slurm-metrics-adapter and
// slurm-operator run as local processes with the rights that their charts grant. The HPA
// controller is the stock one, the Slurm clusters are simulated, and the test itself marks
// worker pods as running. The tests carry the build tag e2e.
package plugin
