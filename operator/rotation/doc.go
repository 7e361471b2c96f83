// Package rotation replaces the key of auth/slurm of a Controller's cluster while it runs.
//
// The key set is in a Secret of the operator, which the pods of all daemons mount beside the user's slurm.key
// (names.KeySetSecret). An agent in each pod gives its daemon the keys and reports which ones it has (package
// configagent). Package plan decides the next key set only from the key set and these reports, so that a rotation
// continues after the operator was killed.
//
// Members of a rotation are all pods in the namespace whose daemon has the same key. They are the pods of the
// Controllers and Accountings that refer to it, and the workers, login pods and slurmdbds of these Controllers.
package rotation
