package plan

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/references"
)

// Surplus are the FUTURE records that a NodeSet no longer wants.
type Surplus struct {
	// Records are their names, sorted.
	Records []string
	// LeavesNone reports that the NodeSet has neither a worker nor another record.
	LeavesNone bool
}

// NeededRecords returns, by name, the surplus records that pending jobs need, with the reason. A job that requests more
// nodes than its partition has waits as PartitionNodeLimit, or sbatch of 24.11 refuses it. A job whose constraints no
// node meets becomes BadConstraints.
func NeededRecords(s *SlurmReading, surplus Surplus) map[string]string {
	removal := references.Removal{Listed: s.NodesIn, Removed: references.Nodes{}, All: surplus.LeavesNone}
	for _, name := range surplus.Records {
		removal.Removed.Add(s.Records[name].Partitions, s.Records[name].Features)
	}
	needed := map[string]string{}
	var last Record
	for _, name := range surplus.Records {
		r := s.Records[name]
		if last.Name != "" && slices.Equal(r.Partitions, last.Partitions) && slices.Equal(r.Features, last.Features) {
			needed[name] = needed[last.Name] // most records of a NodeSet are alike
			continue
		}
		needed[name], last = s.Pending.JobThatNeeds(removal, r.Partitions, r.Features), r
	}
	return needed
}
