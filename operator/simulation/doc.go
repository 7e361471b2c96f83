// Package simulation tests the reconcilers of Controllers, Accountings, RestApis and LoginSets, and the rotation of keys, in random
// histories of Kubernetes, users and faults. The reconcilers are the real ones; the API server, its controllers, the kubelet, the
// daemons of Slurm and their agents are simulated. Every history checks the operator's promises; for example, no daemon gets the state
// of a newer release. The simulated slurmctld has partitions with jobs: NodeSets lose their partitions or are renamed or deleted, lines
// of extraConf come and go, administrators set partitions and force revisions, and slurmctld does not always answer. The rule that
// holds a revision back (configagent/inuse) is the real one: no job ends because of a revision that was not forced. The tests also
// break each rule on purpose, by changes to the operator's reads or writes, and check that a promise notices.
//
// "make sim HISTORIES=100000" plays more histories than the tests do.
package simulation
