// Package slurmtest is a simulated Slurm cluster behind a slurmrestd, for tests,
// benchmarks and demonstrations.
//
// A Cluster is a model: nodes, partitions, jobs, reservations, licences and
// accounts, and a scheduler that moves jobs as Slurm would. Its Handler answers
// HTTP as the slurmrestd of a Slurm release does, in every API version of that
// release, from that one model. Key names, their order and the layout of the
// JSON are those of recorded answers (the records folder holds one record of
// each kind and version); so are the errors, the lies of update_time, and what
// is refused.
//
// The model moves only when told to: by Step, by Run, by the methods that change
// it, and by requests. Time stands still in between.
package slurmtest
