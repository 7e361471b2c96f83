// Package trial decides whether slurmctld would start with a configuration. Slurm has no check of its
// own, so a second slurmctld tries: it reads the same files, with a state, a port and a log of its own
// (docs/development/slurm.md, "Checking a configuration"). Package configagent runs it.
//
// All functions are pure: the text of the trial's slurm.conf, and what its log says.
package trial
