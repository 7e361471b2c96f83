package demand_test

import "github.com/slurmtide/slurmtide/slurmclient"

// known marks nodes, jobs and partitions as read.
func known(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	return s
}
