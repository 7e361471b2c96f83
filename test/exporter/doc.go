// Package exporter holds the tests of slurm-exporter as its users run it: the
// program against real Slurm, its numbers against those of Slurm's own commands.
package exporter
