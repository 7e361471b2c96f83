// Package records converts the objects of the view back to Slurm's records, so that package demand
// can use them. It is pure.
//
// The view lacks some fields that demand uses: tasks and CPUs per node, GRES per job, per task and
// per socket, reservations, and QOS limits. Compare numbers that are based on these records with
// those of the metrics adapter before showing them.
package records
