// Package configagent applies configuration to a slurmctld or a slurmdbd beside which it runs, in the same pod.
//
// The kubelet keeps a folder with the files that the operator and the users want. The agent gives them
// to the daemon only when a trial (package trial) has shown that it starts with them. Otherwise
// the running configuration stays in force, and Status says why. It works while the operator is away,
// and after the pod has moved: the last accepted files are kept beside slurmctld's state.
//
//	wanted folder ──► Check ──► Hold ──► live folder ──► scontrol reconfigure or SIGHUP, or a restart ──► in force
//	                    │         │                        └─ fails ─► the files in force are given again ─► try again later
//	                    │         └─ must wait ─► Status.Held
//	                    └─ refused: never again; not possible: try again later ─► Status.Error
//
// The agent keeps two records: what is in force, which the daemon has confirmed, and the last attempt (nextStep decides from
// them). The first one is on disk before the live folder changes and after the daemon has confirmed it, so that an agent that
// is killed at any point is followed by one that knows what the daemon may have. Files are accepted for other pods only after
// the daemon has confirmed them. Hold judges files that an earlier agent gave and nobody confirmed like those in force, also before
// those in force are restored.
//
// Those that get the configuration from slurmctld get it only in a reconfigure. The first record has what they got last until a
// reconfigure of their slurmctld has ended (HandedOut). Until then HandOut is tried, after Hold.
//
// Beside slurmdbd it brings accounts into the database as well (AccountsAgent, package accounts).
package configagent
