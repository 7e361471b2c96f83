// Package simulation tests the planner of NodeSets in random histories of Kubernetes, Slurm,
// administrators and faults. Every history checks the promises of package plan, above all that no
// worker is deleted under a running job. The tests also break each rule on purpose and check that a
// promise notices.
//
// What is simulated: scaling, updates and deletions of a NodeSet; a maximum that changes or is unknown;
// names, shapes and GRES of records that change; jobs that start, end, are suspended, and name Slurm
// nodes; administrators who drain, resume and reboot nodes; drains of Slurm's own; states of slurmctld
// that are lost or restored; slurmds that are refused, or outlive their pods; nodes of slurm.conf, of
// other NodeSets and of other people under names of workers; other Slurm clusters that answer; readings
// that are late, stale or lack nodes; requests that fail or whose answers are lost; an operator that is
// killed. Package rack simulates the scaling modes.
//
// "make sim HISTORIES=400000" plays more histories than the tests do.
package simulation
