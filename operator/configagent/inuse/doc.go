// Package inuse holds a revision of slurm.conf that would end jobs: slurmctld ends every unfinished job, including held
// ones, whose partition or static node is missing when it reads slurm.conf (docs/development/slurm.md, "What ends jobs").
//
//	nothing that jobs use is removed ──► the revision is applied
//	a partition of jobs is removed ──► it is drained, and the revision waits until the last job has ended
//	a static node of jobs is removed, GresTypes of jobs, or the room for dynamic nodes ──► the revision waits
//	partitions, static nodes or licenses of a reservation are removed ──► the revision waits for its end
//	the directory does not know a user or group of a reservation now ──► every revision waits
//	gres.conf names files that a node with jobs may lack ──► the revision waits
//	gres.conf counts fewer GRES of nodes, but some, while jobs have them ──► the revision waits
//	what slurmd may end with changes, such as TaskPlugin, while a node has a job ──► the revision waits
//	OverTimeLimit is lowered while jobs run past their time limit for longer ──► the revision waits
//	a static node with jobs gets another address or port ──► the revision waits
//	a static node gets the name of a dynamic node of jobs ──► the revision waits
//	a node set gets the name of a Slurm node ──► the revision waits, also if it is forced
//	slurmctld does not say which jobs there are ──► a revision that removes something waits
//	the revision is forced (slurmconf.ForcedRevisionFile) ──► it is applied
package inuse
