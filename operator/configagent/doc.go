// Package configagent applies configuration to a slurmctld or a slurmdbd. It runs in the daemon's pod.
//
// The kubelet keeps a folder with the files that the operator and the users want. The agent gives them to the daemon only when a
// trial (package trial) has shown that it starts with them. Otherwise the running configuration stays in force, and Status has the
// reason. The agent works without the operator, and after the pod has moved: the last accepted files are kept beside slurmctld's
// state.
//
//	wanted folder ──► Check ──► Hold ──► live folder ──► scontrol reconfigure or SIGHUP, or a restart ──► in force
//	                    │         │                        └─ fails ─► the files in force are given again ─► try again later
//	                    │         └─ must wait ─► Status.Held
//	                    └─ refused: never again; not possible: try again later ─► Status.Error
//
// The agent keeps two records: what is in force, which the daemon has confirmed, and the last attempt (nextStep decides from them).
// The first one is written to disk before the live folder changes and after the daemon confirms it. So if an agent is killed at any
// point, the next one knows what the daemon may have. Files are accepted for other pods only after the daemon has confirmed them.
// Hold treats unconfirmed files of an earlier agent like the files in force, also before the files in force are restored.
//
// Users of slurmctld's configuration receive it only by a reconfigure. Until a reconfigure of their slurmctld has ended, the first
// record keeps the files that they received last (HandedOut). Until then the agent retries HandOut, after Hold.
//
// Beside slurmdbd it also loads accounts into the database (AccountsAgent, package accounts).
package configagent
