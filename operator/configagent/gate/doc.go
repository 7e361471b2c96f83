// Package gate keeps jobs from starting in the moment in which slurmctld executes itself again: slurmctld then
// allocates nodes to jobs and loses their launches, so that they are RUNNING without a process (docs/development/slurm.md,
// "What a reconfigure applies").
//
// While the gate is closed, the partitions that were UP are DOWN: jobs are accepted and wait, and those that run go on.
package gate
