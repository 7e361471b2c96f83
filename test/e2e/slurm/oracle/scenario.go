package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

const (
	// idlePartition has one job that never starts, so that backfill always has a job to evaluate
	// and its cycles can be counted.
	idlePartition = "never"
	idleJob       = "never"
)

// Variant is a kind of cluster.
type Variant struct {
	Name string
	// Pools are the NodeSets. The feature of each is its name, its records are NAME-0 to
	// NAME-(Max-1), and its Shape is how Slurm defines them.
	Pools []demand.Pool
	// Nodes contains further options of a pool's NodeName line, by pool name. CPUs is set there
	// where jobs get fewer CPUs than the nodes have.
	Nodes map[string]string
	// Partitions, GRES, Constraints, QOS and Accounts are what jobs can request.
	Partitions, GRES, Constraints, QOS, Accounts []string
	// Conf are the other lines of slurm.conf, including partitions. The node set NAME contains the workers of a pool.
	Conf []string
}

// Job is a job to submit with sbatch. Names are unique in a queue. Args can contain the ID of
// another job as the shell variable of its name.
type Job struct {
	Name string
	Args string
}

// Scenario is the input of one round: a queue on a variant. InitialWorkers of each pool exist
// already and can have work, since InitialJobs were submitted first.
type Scenario struct {
	Seed           uint64
	Variant        *Variant
	InitialWorkers []uint64
	InitialJobs    []Job
	Queue          []Job
}

// withoutJobs returns the scenario without the named jobs.
func (s Scenario) withoutJobs(names []string) Scenario {
	named := func(j Job) bool { return slices.Contains(names, j.Name) }
	s.InitialJobs = slices.DeleteFunc(slices.Clone(s.InitialJobs), named)
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), named)
	return s
}

// keepsWorkers reports whether the workers include all initial workers.
func (s Scenario) keepsWorkers(up []uint64) bool {
	for i, n := range s.InitialWorkers {
		if up[i] < n {
			return false
		}
	}
	return true
}

// workerName returns the node name of a pool's worker.
func workerName(pool string, ordinal uint64) string { return fmt.Sprintf("%s-%d", pool, ordinal) }

// workerHostlist returns the hostlist of a pool's workers from one ordinal to before another; empty
// for none.
func workerHostlist(pool string, from, to uint64) string {
	if from >= to {
		return ""
	}
	return fmt.Sprintf("%s-[%d-%d]", pool, from, to-1)
}

// nodeLine returns the line of slurm.conf for all workers of a pool. A slurmd on the port answers
// their pings.
func nodeLine(p demand.Pool, port, more string) string {
	s := p.Shape
	options := []string{"NodeName=" + workerHostlist(p.Name, 0, p.Max), "NodeHostname=ctl", "NodeAddr=127.0.0.1",
		"Port=" + port}
	if !strings.Contains(more, "CPUs=") {
		options = append(options, fmt.Sprintf("CPUs=%d", s.CPUs))
	}
	options = append(options, fmt.Sprintf("RealMemory=%d", s.MemoryMiB),
		"Feature="+strings.Join(append([]string{p.Feature}, s.Features...), ","))
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

// slurmConf returns the slurm.conf of a variant, based on the started cluster's. It replaces all nodes and partitions
// except for n1, whose slurmd answers for all workers, and the partition of n1's idle job.
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
