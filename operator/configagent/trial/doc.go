// Package trial decides whether slurmctld or slurmdbd would start with a configuration. Slurm has no check
// of its own, so a second daemon tries: it reads the same files, with a state, a port and a log of its own
// (docs/development/slurm.md, "Checking a configuration"). Package configagent runs it.
//
// All functions are pure: they return the text of the trial's configuration file, and read its log.
package trial
