// Package configagent applies configuration to a slurmctld or a slurmdbd beside which it runs, in the same pod.
//
// The kubelet keeps a folder with the files that the operator and the users want. The agent gives them
// to the daemon only when a trial (package trial) has shown that it starts with them. Otherwise
// the running configuration stays in force, and Status says why. It works while the operator is away,
// and after the pod has moved: the last accepted files are kept beside slurmctld's state.
//
//	wanted folder ──► Check ──accepted──► live folder ──► scontrol reconfigure or SIGHUP, or a restart
//	                    └────refused────► Status.Error; the live folder stays
//
// Beside slurmdbd it brings accounts into the database as well (AccountsAgent, package accounts).
package configagent
