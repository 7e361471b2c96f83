// Package exporter tests slurm-exporter as its users run it: the program reads real Slurm, and its numbers must equal
// the numbers of Slurm's own commands.
package exporter
