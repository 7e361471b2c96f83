// Package numbers compares the metrics of slurm-exporter on a real Slurm with the output of Slurm's
// own commands.
package numbers
