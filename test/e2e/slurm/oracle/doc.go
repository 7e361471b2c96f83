// Package oracle compares demand with real Slurm.
//
// A round is a random queue on a random cluster. In half of the rounds some workers exist already,
// and can have work. slurm.conf has a record of every worker that the pools could add. Missing
// workers are drained, which removes and adds them within milliseconds, and are left out of the
// snapshot that demand reads, like FUTURE records. One slurmd answers the pings for all workers.
// PrologSlurmctld waits, so that a job that Slurm starts occupies its nodes and nothing is
// launched.
//
// The round computes demand from what the client reads from slurmrestd, adds exactly the required
// workers, and lets Slurm schedule. It then adds all other workers: a job that starts only now was
// starved. It finds out how many workers would have been enough by removing workers from each pool.
// Each round therefore shows whether demand is exact, and if not, whether it is excessive.
package oracle
