// Package oracle asks real Slurm whether demand is right.
//
// A round is a random queue on a random cluster; in half of them some workers are there
// already, and may have work. Its pools have a record of every worker
// that may ever come. The workers that are not there are drained, which takes and gives
// them in milliseconds, and are left out of what demand reads, as FUTURE records are.
// One slurmd answers the pings of all of them. PrologSlurmctld waits, so that a job that
// Slurm starts holds its nodes and nothing is launched.
//
// Demand is computed from what the client reads of slurmrestd, exactly the required
// workers come up, and Slurm schedules. Then all others come up as well: a job that
// starts only now was starved. How many workers would have been enough is tried out, one
// less of each pool, so that each round tells whether demand is exact, and if not, dear.
package oracle
