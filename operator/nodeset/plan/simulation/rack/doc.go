// Package rack tests the planner of NodeSets in random histories of the scaling modes: Kubernetes nodes join, are lost and are
// tainted, some have one Slurm node name, and the NodeSet changes between the modes. The rules that choose Kubernetes nodes and
// name workers are the real ones. Every history checks four promises. No worker is deleted under a running job. A Slurm node
// has one worker. A change of the mode stays within the disruption budget. A taint that only affects new pods removes no
// worker.
package rack
