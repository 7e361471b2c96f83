// Package demand tells how many nodes a Slurm cluster's queue asks for.
//
// Everything here is a pure function of a snapshot and a clock: no I/O, no
// goroutines, no state, no panics; the same input gives the same answer, in
// whatever order it lists its jobs and nodes. What the snapshot has not read is
// not known, and Demand says so instead of saying zero.
//
// Compute answers per partition, and per pool of nodes that may become more or
// fewer, as a NodeSet's workers do. Nodes asked for are an estimate: jobs are packed
// on the free parts of the nodes that are there, and then on new nodes of the
// shapes that the partition's pools have, or, where it has none, its nodes.
//
// What the pools need is an estimate first: it is fast for any queue. Where the queue of
// pools that share partitions is short enough, a rehearsal corrects it: it plays what
// slurmctld would do, and finds the fewest new workers with which every job starts that
// would start with all that there may be. test/oracle holds both against real Slurm.
//
// Partitions and pools are counted in one go, so they never contradict each other:
// a new node is asked for in one partition and one pool at most.
//
// What is steady, and what is not. An idle worker more makes no pool's busy and
// pending nodes more. Where workers of a pool are alike it raises Required, of all
// pools together, or of each when no job may run in two of them, by no more than
// itself, and that only where no waiting job takes it while others need new workers; in
// rare cases slurmctld puts jobs on it so that others find less room, and so does a rehearsal.
// Where they are not, a small one may be claimed beside a large one that is still needed. A higher Max does not lower a
// pool's Required; it may lower that of the next pool, whose jobs it takes.
package demand
