// Package rack tests the planner of NodeSets in random histories of the scaling modes: Kubernetes nodes join, are lost and are
// tainted, some have one Slurm node name, and the NodeSet changes between the modes. The rules that choose Kubernetes nodes and
// name workers are the real ones. Every history checks that no worker is deleted under a running job, that a Slurm node has
// one worker, that a change of the mode keeps to the disruption budget, and that a taint which only keeps new pods off removes
// nobody.
package rack
