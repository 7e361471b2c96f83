// Package oracle compares demand with real Slurm.
//
// A round is a random queue on a random cluster. In half of the rounds some workers exist already, and can have work.
// slurm.conf has a record of every worker that the pools could add. Missing workers are drained, so they can be added
// or removed within milliseconds. Like FUTURE records, they are left out of the snapshot that demand reads. One slurmd
// answers the pings for all workers. PrologSlurmctld waits: a started job occupies its nodes, and nothing is launched.
//
// The round computes demand from what the client reads from slurmrestd, adds exactly the required workers, and lets
// Slurm schedule. It then adds all other workers: a job that starts only now was starved. To find the smallest
// sufficient number, it removes workers from each pool. Each round therefore shows whether demand is exact, and if not,
// whether it is excessive.
package oracle
