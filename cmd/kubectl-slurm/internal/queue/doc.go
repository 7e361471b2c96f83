// Package queue makes the rows of kubectl slurm queue from the jobs of the view. They equal the rows of squeue(1). It is pure.
package queue
