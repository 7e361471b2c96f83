// Package numbers holds what slurm-exporter tells of a real Slurm against what Slurm's own
// commands tell.
package numbers
