package slurmclient

import (
	"maps"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// BusyNode is a node that was given work which the list of jobs may not contain yet.
type BusyNode struct {
	// Before is the node's record when it was last read without that work, nil if the node is
	// new.
	Before *slurm.Node
	// BeforeReadAt is when the poll of that record began. BusyAt is when the poll began that
	// showed the work. Both are times of the local clock.
	BeforeReadAt, BusyAt time.Time
}

// nextBusySinceJobs computes Snapshot.BusySinceJobs after nodes, jobs or both were read. It keeps the
// nodes that became busy after jobsAt, when the last poll of jobs began, and adds the nodes that
// have more work now than in the previous reading. It does not modify old.
func nextBusySinceJobs(old map[string]BusyNode, was, is Reading[[]*slurm.Node], jobsAt time.Time) map[string]BusyNode {
	out := maps.Clone(old)
	maps.DeleteFunc(out, func(_ string, e BusyNode) bool { return !e.BusyAt.After(jobsAt) })
	if was.Known && is.ReadAt.After(jobsAt) && is.Sequence != was.Sequence {
		for before, node := range records.NodeChanges(was.Value, is.Value) {
			switch {
			case node == nil:
				delete(out, before.Name)
			case occupancy.GotWork(before, node):
				e, there := out[node.Name]
				if !there {
					e = BusyNode{Before: before, BeforeReadAt: was.ReadAt}
				}
				e.BusyAt = is.ReadAt
				if out == nil {
					out = map[string]BusyNode{}
				}
				out[node.Name] = e
			case !node.State.Allocated():
				delete(out, node.Name)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
