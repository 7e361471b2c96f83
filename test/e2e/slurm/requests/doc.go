// Package requests submits random requests to real Slurm and compares what this project parses from
// slurmrestd's records with what Slurm's own commands print about the same jobs: scontrol's requested TRES,
// scontrol show hostnames, squeue's array tasks, and whether sbatch accepts a constraint on a node.
package requests
