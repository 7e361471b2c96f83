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
// New makes a cluster of a Config, Sized one with many nodes and jobs, and Living
// one that keeps running jobs for a demonstration. Fail makes requests fail,
// SetController takes slurmctld away, and Requests tells what was asked for.
//
// The model moves only when told to: by Step, by Run, by the methods that change
// it, and by requests. Time stands still in between, and jobs that were submitted
// start in the next Step.
//
// Simpler than Slurm are: the scheduler, which starts whatever fits in the order
// of priority and reserves nothing for large jobs that wait; fair-share, which
// does not decay or change priorities; steps, preemption, topology, burst buffers
// and federation, which are missing; and GRES, of which only GPUs are known.
package slurmtest
