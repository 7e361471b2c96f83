// Package demand computes how many nodes the queue of a Slurm cluster needs.
//
// Everything here but Memo, which remembers the last answer, is a pure function of a snapshot and a clock. It does no I/O, starts no
// goroutine, keeps no state and does not panic. The same input gives the same result, whatever the order of its jobs and nodes. If the
// snapshot has not read something, Demand marks it as unknown instead of reporting zero.
//
// Compute answers per partition, and per pool of nodes that can grow and shrink, such as the workers of a NodeSet. The number of nodes is
// an estimate: jobs are packed on the free parts of existing nodes, and then on new nodes. New nodes have the shapes of the partition's
// pools. In a partition without a pool, they have the shapes of its nodes.
//
// The demand on pools starts as an estimate, which is fast for any queue. If the queue of the pools that share partitions is short enough,
// a simulation corrects the estimate. The simulation follows the scheduling rules of slurmctld. It finds the fewest new workers that start
// the same jobs as the maximum number of workers. test/e2e/slurm/oracle compares both with real Slurm.
//
// Partitions and pools are counted together and never contradict each other: a new node is requested in at most one partition and at most
// one pool.
//
// The work is bounded too: Compute counts its elementary steps, never the time. Jobs beyond the budget are estimated in constant time each,
// and counted as DeviationBudget. Such an estimate stays within the Max of each pool and removes no worker with a usable node. It may
// request fewer new nodes of a pool that only some jobs can use.
//
// Stability. One more idle worker never raises Busy plus Pending of a pool. If the workers of a pool are alike, it raises Required by at
// most one: summed over all pools, or per pool when no job can run in two of them. Even that happens only if no waiting job takes the
// worker while other jobs need new workers. In rare cases slurmctld puts jobs on the additional worker so that others find less room, and
// so does the simulation. If the workers differ, a small worker can be claimed beside a large one that is still needed. A higher Max never
// lowers the Required of a pool. It can lower the Required of the next pool, whose jobs it takes over. A change of the input can also move
// jobs into or out of the budget, and so change how they are estimated.
package demand
