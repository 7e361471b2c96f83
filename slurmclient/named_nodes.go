package slurmclient

import (
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// maxNamedNodes limits how many nodes the distinct host lists of one kind of objects name together. Slurm has at most about 65,000 nodes.
// But a server may answer anything, and a few short texts can name millions of nodes, which readers of a snapshot expand.
const maxNamedNodes = 1 << 22

// checkNamedNodes returns an error if the jobs or reservations of a snapshot have too many nodes. Lists that cannot be read count as empty.
// Required and excluded nodes of jobs do not count, because any user may name all nodes in many jobs. Code that expands those lists has its
// own limits.
func checkNamedNodes(s *Snapshot, changed Resource) error {
	c := nodeCounter{seen: map[string]bool{}}
	switch changed {
	case Jobs:
		for _, j := range s.Jobs.Value {
			c.countNodes(j.Nodes)
			c.countNodes(j.ScheduledNodes())
		}
	case Reservations:
		for _, r := range s.Reservations.Value {
			c.countNodes(r.Nodes)
		}
	case Partitions:
		for _, p := range s.Partitions.Value {
			c.countNodes(p.Nodes)
		}
	}
	if c.count > maxNamedNodes {
		return &Error{Code: CodeUnavailable, Op: "reading " + string(changed),
			Message: fmt.Sprintf("they name more than %d nodes", maxNamedNodes)}
	}
	return nil
}

// nodeCounter counts the names of distinct host lists.
type nodeCounter struct {
	seen  map[string]bool
	count int
}

func (c *nodeCounter) countNodes(list string) {
	if list == "" || c.seen[list] || c.count > maxNamedNodes {
		return
	}
	c.seen[list] = true
	if n, err := hostlist.Count(list); err == nil {
		c.count += n
	}
}
