package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

const (
	// idlePartition has one job that never starts, so that backfill always has
	// something to look at and its cycles can be counted.
	idlePartition = "never"
	idleJob       = "never"
)

// Variant is a cluster to ask on.
type Variant struct {
	Name string
	// Pools are the NodeSets; the feature of each is its name, its records are NAME-0 to
	// NAME-(Max-1), and its Shape is what Slurm has in them.
	Pools []demand.Pool
	// Nodes is more of the lines of slurm.conf for a pool's nodes, by its name; CPUs there are
	// those that the nodes have, where jobs get fewer.
	Nodes map[string]string
	// Partitions, GRES, Constraints, QOS and Accounts are what jobs ask for.
	Partitions, GRES, Constraints, QOS, Accounts []string
	// Conf are lines of slurm.conf beside those of nodes, the partitions' among them.
	// The node set NAME has the workers of a pool.
	Conf []string
}

// Job is a job to submit: the arguments of sbatch. Names are unique in a queue; another
// job's id is in the shell variable of its name.
type Job struct {
	Name string
	Args string
}

// Scene is what one round plays: a queue on a variant, of whose pools so many workers are
// There and may have work: the jobs Before were submitted first.
type Scene struct {
	Seed    uint64
	Variant *Variant
	There   []uint64
	Before  []Job
	Queue   []Job
}

// withoutJobs returns the scene without the jobs of the names.
func (s Scene) withoutJobs(names []string) Scene {
	named := func(j Job) bool { return slices.Contains(names, j.Name) }
	s.Before = slices.DeleteFunc(slices.Clone(s.Before), named)
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), named)
	return s
}

// keepsWorkers reports whether so many workers include all that are there already.
func (s Scene) keepsWorkers(up []uint64) bool {
	for i, n := range s.There {
		if up[i] < n {
			return false
		}
	}
	return true
}

// worker is the node name of a pool's worker.
func worker(pool string, ordinal uint64) string { return fmt.Sprintf("%s-%d", pool, ordinal) }

// workers is the hostlist of a pool's workers from one ordinal to before another; empty
// for none.
func workers(pool string, from, to uint64) string {
	if from >= to {
		return ""
	}
	return fmt.Sprintf("%s-[%d-%d]", pool, from, to-1)
}

// nodeLine is the line of slurm.conf for all workers of a pool, whose pings a slurmd
// on the port answers.
func nodeLine(p demand.Pool, port, more string) string {
	s := p.Shape
	options := []string{"NodeName=" + workers(p.Name, 0, p.Max), "NodeHostname=ctl", "NodeAddr=127.0.0.1", "Port=" + port}
	if !strings.Contains(more, "CPUs=") {
		options = append(options, fmt.Sprintf("CPUs=%d", s.CPUs))
	}
	options = append(options, fmt.Sprintf("RealMemory=%d", s.MemoryMiB), "Feature="+strings.Join(append([]string{p.Feature}, s.Features...), ","))
	if s.GRES != "" {
		options = append(options, "Gres="+s.GRES)
	}
	if s.TmpDiskMiB > 0 {
		options = append(options, fmt.Sprintf("TmpDisk=%d", s.TmpDiskMiB))
	}
	if s.Weight > 0 {
		options = append(options, fmt.Sprintf("Weight=%d", s.Weight))
	}
	if more != "" {
		options = append(options, more)
	}
	return strings.Join(options, " ")
}

// slurmConf is the slurm.conf of a variant, given that of the cluster as it was started:
// its nodes and partitions go, but for n1, whose slurmd answers for all workers and which
// has the partition of the job that keeps the scheduler busy.
func (v *Variant) slurmConf(base, port string) string {
	var out strings.Builder
	for line := range strings.Lines(base) {
		if !strings.HasPrefix(line, "PartitionName=") {
			out.WriteString(line)
		}
	}
	for _, p := range v.Pools {
		fmt.Fprintln(&out, nodeLine(p, port, v.Nodes[p.Name]))
		fmt.Fprintf(&out, "NodeSet=%s Feature=%s\n", p.Name, p.Feature)
	}
	for _, line := range append(v.Conf, "PartitionName="+idlePartition+" Nodes=n1 PriorityTier=0") {
		out.WriteString(line + "\n")
	}
	return out.String()
}
