// Package records turns the objects of the view back into Slurm's records, so that
// what is known of these (package demand, above all) can be asked of what the view
// shows. It is pure.
//
// The view leaves out a few things that demand looks at: tasks and CPUs asked for per
// node, GRES per job, per task and per socket, reservations, and limits of QOS. Numbers
// that come from here are held to those of the metrics adapter before they are told.
package records
