// Package simulation tests the planner of NodeSets in random histories of Kubernetes, Slurm,
// administrators and faults. Every history checks the promises of package plan, above all that no
// worker is deleted under a running job. The tests also break each rule on purpose and check that a
// promise notices.
//
// "make sim HISTORIES=400000" plays more histories than the tests do.
package simulation
