// Package gate keeps jobs from starting while slurmctld executes itself again. Otherwise slurmctld allocates nodes to jobs
// and loses their launches, so that they are RUNNING without a process (docs/development/slurm.md, "What a reconfigure
// applies").
//
// While the gate is closed, the partitions that were UP are DOWN: jobs are accepted and wait, and running jobs continue.
package gate
