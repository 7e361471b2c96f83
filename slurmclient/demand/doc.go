// Package demand tells how many nodes a Slurm cluster's queue asks for.
//
// Everything here is a pure function of a snapshot and a clock: no I/O, no
// goroutines, no state, no panics; the same input gives the same answer, in
// whatever order it lists its jobs and nodes. What the snapshot has not read is
// not known, and Demand says so instead of saying zero.
//
// Compute answers per partition. Nodes asked for are an estimate: jobs are packed
// on the free parts of the nodes that are there, and then on new nodes of the
// shapes that the partition has.
package demand
