// Package info makes the rows of kubectl slurm info from the nodes and partitions of the view. They equal the rows of sinfo(1).
// It is pure.
package info
