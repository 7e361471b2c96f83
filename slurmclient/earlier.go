package slurmclient

import (
	"maps"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Earlier is a node as it was before it was given work that the list of jobs may not
// know of yet.
type Earlier struct {
	// Node is its record when it was last read without that work, nil for none.
	Node *slurm.Node
	// ReadAt is when that reading began, SeenAt when the one began that showed the work;
	// by our clock.
	ReadAt, SeenAt time.Time
}

// nextEarlier is what Snapshot.Earlier becomes when nodes, jobs or both were read anew:
// it keeps what was seen after jobsAt, when the reading of jobs began, and adds the nodes
// that have more work now than in the reading before. old is not written to.
func nextEarlier(old map[string]Earlier, was, is Reading[[]*slurm.Node], jobsAt time.Time) map[string]Earlier {
	out := maps.Clone(old)
	maps.DeleteFunc(out, func(_ string, e Earlier) bool { return !e.SeenAt.After(jobsAt) })
	if was.Known && is.ReadAt.After(jobsAt) && is.Sequence != was.Sequence {
		for _, c := range changes(was.Value, is.Value, func(n *slurm.Node) string { return n.Name }) {
			switch {
			case c.New == nil:
				delete(out, c.Old.Name)
			case moreWork(c.Old, c.New):
				e, there := out[c.New.Name]
				if !there {
					e = Earlier{Node: c.Old, ReadAt: was.ReadAt}
				}
				e.SeenAt = is.ReadAt
				if out == nil {
					out = map[string]Earlier{}
				}
				out[c.New.Name] = e
			case !works(c.New):
				delete(out, c.New.Name)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// works reports that a node has work, by its state.
func works(n *slurm.Node) bool {
	return n.State.Base == slurm.NodeAllocated || n.State.Base == slurm.NodeMixed
}

// moreWork reports that a node was given work between two readings; was is nil for one
// that was not there.
func moreWork(was, is *slurm.Node) bool {
	return works(is) && (was == nil || !works(was) || is.AllocCPUs > was.AllocCPUs || is.AllocMemoryMiB > was.AllocMemoryMiB)
}
