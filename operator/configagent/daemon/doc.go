// Package daemon gives a running daemon of Slurm its changed configuration: a slurmctld, a slurmdbd, or a slurmd or sackd
// whose keys change. It ends a slurmctld that hangs at its start or after a reconfigure.
package daemon
