package status

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

// formatKeptRecords describes the records that stay although the NodeSet does not want them; it is empty without any.
// The text of a NodeSet that is being deleted includes the ways out.
func formatKeptRecords(s *Observation, kept map[string]string) string {
	if len(kept) == 0 {
		return ""
	}
	first := slices.Sorted(maps.Keys(kept))[0]
	text := fmt.Sprintf("the record of Slurm node %s stays, because %s", first, observed.CleanReason(kept[first]))
	if more := len(kept) - 1; more > 0 {
		text += fmt.Sprintf("; %d more stay", more)
	}
	if s.NodeSet.DeletionTimestamp != nil {
		text += "; to go on, cancel the job or let it name other nodes (scontrol update jobid=N reqnodelist=), delete the " +
			"reservation, or set spec.drainPolicy.type to Force, which leaves the record in Slurm"
	}
	return text
}

// formatOldShapes describes the FUTURE records that keep resources which the workers no longer have; empty without such
// records.
func formatOldShapes(records map[string]string) string {
	if len(records) == 0 {
		return ""
	}
	first := slices.Sorted(maps.Keys(records))[0]
	text := fmt.Sprintf("the record of Slurm node %s keeps other resources than the workers have, because %s", first,
		observed.CleanReason(records[first]))
	if more := len(records) - 1; more > 0 {
		text += fmt.Sprintf("; %d more keep them", more)
	}
	return text + "; to go on, cancel the job or let it name other nodes (scontrol update jobid=N reqnodelist=), or delete " +
		"the reservation"
}
