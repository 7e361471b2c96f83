// Package slurmtest simulates a Slurm cluster behind slurmrestd, for tests, benchmarks and demonstrations.
//
// A Cluster is a model of nodes, partitions, jobs, reservations, licenses and accounts (internal/slurmctld), with a
// scheduler that moves jobs as Slurm would. Its Handler (internal/slurmrestd) answers HTTP requests from that model as
// the slurmrestd of one Slurm release does, in every API version of that release. Key names, their order and the JSON
// layout follow recorded answers: internal/slurmrestd/records contains one record of each kind and version. Errors, the
// quirks of update_time and the set of refused requests follow the recordings too.
//
// New creates a cluster from a Config, NewSized creates one with many nodes and jobs, and NewDemo creates one that
// keeps running jobs for a demonstration. InjectFault makes requests fail, SetControllerState stops or hangs slurmctld,
// and RequestCounts reports the requests received.
//
// The model changes only through Step, Run, its other methods, and requests. Time stands still in between, and
// submitted jobs start in the next Step.
//
// Four things are simpler than in Slurm. The scheduler starts whatever fits in order of priority and reserves no nodes
// for large jobs that wait. Fair-share does not decay and does not change priorities. Steps, preemption, topology,
// burst buffers and federation are missing. GPUs are the only known GRES.
package slurmtest
