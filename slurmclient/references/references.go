// Package references decides which jobs, reservations and partitions name which Slurm nodes. It is pure: the same
// records give the same result in any order.
//
// slurmctld looks up the named nodes again at each reconfigure, restart and takeover. If the record of a required node
// (sbatch --nodelist) is missing then, the job ends as NODE_FAIL, even if it runs on other nodes. A reservation whose
// nodes are missing is deleted, and its jobs are held. A partition of slurm.conf that names a missing node keeps
// slurmctld from starting. Excluded nodes may be missing.
package references

import (
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ByNode maps the name of each node to one object that names it, in words such as "job 5". If several objects name a
// node, jobs precede reservations, and reservations precede partitions; the first in order wins. If the nodes of an
// object cannot be read, ByNode returns an error that names the object.
//
// A partition that contains node sets, such as ALL, counts as naming no node: slurmctld does not report which of its
// nodes slurm.conf names.
func ByNode(jobs []*slurm.Job, reservations []*slurm.Reservation, partitions []*slurm.Partition) (map[string]string, error) {
	c := collector{objects: map[string]string{}, expanded: map[string]bool{}}
	for _, j := range jobs {
		if isUnfinished(j) && !c.expanded[j.RequiredNodes()] {
			if err := c.addNodes(fmt.Sprintf("job %d", j.ID), j.RequiredNodes()); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range reservations {
		if err := c.addNodes("reservation "+r.Name, r.Nodes); err != nil {
			return nil, err
		}
	}
	for _, p := range partitions {
		if p.NodeSets != "" {
			continue
		}
		if err := c.addNodes("partition "+p.Name, p.Nodes); err != nil {
			return nil, err
		}
	}
	return c.objects, nil
}

// isUnfinished reports whether a job may still need its nodes. A finished job with flags may be about to run again.
func isUnfinished(j *slurm.Job) bool { return !j.State.Base.Finished() || j.State.Flags != 0 }

// maxNamed is how many nodes all distinct lists together name at most. Slurm has at most 65,536 nodes, and a server may
// answer anything.
const maxNamed = 1 << 22

// collector collects the objects that name nodes.
type collector struct {
	// objects are the first objects by the names of the nodes.
	objects map[string]string
	// expanded are the lists that were added. Each is expanded once, since its nodes have an object from then on.
	expanded map[string]bool
	// named is how many nodes these lists name.
	named int
}

// addNodes adds an object that names nodes.
func (c *collector) addNodes(object, nodes string) error {
	if c.expanded[nodes] {
		return nil
	}
	names, err := hostlist.All(nodes)
	if err != nil {
		return fmt.Errorf("the nodes that %s names cannot be read: %w", object, err)
	}
	c.expanded[nodes] = true
	for name := range names {
		if c.objects[name] == "" {
			c.objects[name] = object
		}
		c.named++
		if c.named > maxNamed || len(c.objects) > hostlist.MaxNames {
			return fmt.Errorf("jobs, reservations and partitions name more than %d nodes, or nodes of more than %d names",
				maxNamed, hostlist.MaxNames)
		}
	}
	return nil
}
