package metricsapi

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Entry is a metric that can be queried.
type Entry struct {
	// Name is the metric's name. If the exporter has the same metric, the names are equal.
	Name string
	// Resources are the resources whose objects have the metric.
	Resources []Resource
	// Help describes the metric in one sentence.
	Help string

	// Exactly one of the two functions is set. It returns the value for a NodeSet's pool, or for
	// partitions of one cluster.
	poolValue       func(p *poolNumbers) uint64
	partitionsValue func(s partitionSelection) uint64
	// takesLargest is true if the value for several clusters is the largest, not the sum.
	takesLargest bool
}

// poolNumbers is the demand on a NodeSet's pool, and the pool for which it was computed.
type poolNumbers struct {
	demand.PoolDemand
	pool demand.Pool
}

// idleGraceSeconds returns the pool's idle grace in seconds, rounded up.
func (p *poolNumbers) idleGraceSeconds() uint64 {
	return uint64(math.Ceil(max(0, p.pool.IdleGrace.Seconds())))
}

// Has reports whether objects of the resource have the metric.
func (e Entry) Has(of Resource) bool {
	return slices.ContainsFunc(e.Resources, func(r Resource) bool { return r.GroupResource == of.GroupResource })
}

// OfPartitions reports whether the metric can be selected by the label "partition".
func (e Entry) OfPartitions() bool { return e.partitionsValue != nil }

// Catalogue returns every metric in the order of the documentation.
func Catalogue() []Entry { return slices.Concat(nodeSetEntries(), partitionEntries()) }

// unsatisfiableJobs is shown by reason in the exposition.
const unsatisfiableJobs = "slurm_nodeset_unsatisfiable_jobs"

func nodeSetEntries() []Entry {
	of := func(name, help string, value func(p *poolNumbers) uint64) Entry {
		return Entry{Name: name, Resources: []Resource{NodeSets()}, Help: help, poolValue: value}
	}
	return []Entry{
		of("slurm_nodeset_required_nodes",
			"Nodes that the NodeSet should run now, between its minimum and maximum; HPAs scale on this metric.",
			func(p *poolNumbers) uint64 { return p.Required }),
		of("slurm_nodeset_busy_nodes", "Nodes of the NodeSet with work or in an active reservation.",
			func(p *poolNumbers) uint64 { return p.Busy }),
		of("slurm_nodeset_idle_nodes", "Nodes of the NodeSet that have no job and can start one now.",
			func(p *poolNumbers) uint64 { return p.Idle }),
		of("slurm_nodeset_pending_nodes",
			"Nodes of the NodeSet that eligible pending jobs need in addition to idle and booting nodes.",
			func(p *poolNumbers) uint64 { return p.Pending }),
		of("slurm_nodeset_booting_nodes", "Nodes of the NodeSet that can start a job soon.",
			func(p *poolNumbers) uint64 { return p.Booting }),
		of("slurm_nodeset_unusable_nodes", "Nodes of the NodeSet that are down, drained or failed and have no work.",
			func(p *poolNumbers) uint64 { return p.Unusable }),
		of(unsatisfiableJobs, "Pending jobs that the NodeSet cannot run even with its maximum number of nodes.",
			sumUnsatisfiable),
		of("slurm_nodeset_claimed_nodes",
			"Idle and booting nodes that eligible pending jobs will use; they count as required.",
			func(p *poolNumbers) uint64 { return p.Claimed }),
		of("slurm_nodeset_grace_nodes",
			"Idle nodes that count as required because they have been idle for less than the idle grace, including "+
				"claimed nodes.", func(p *poolNumbers) uint64 { return p.Grace }),
		of("slurm_nodeset_replacement_nodes", "Nodes that are required to replace unusable nodes.",
			func(p *poolNumbers) uint64 { return p.Replacements }),
		of("slurm_nodeset_idle_grace_seconds",
			"How long idle nodes of the NodeSet count as required, by its annotation or by --idle-grace, rounded up.",
			(*poolNumbers).idleGraceSeconds),
	}
}

func sumUnsatisfiable(p *poolNumbers) uint64 {
	var n uint64
	for _, u := range p.Unsatisfiable {
		n += u.Jobs
	}
	return n
}

func partitionEntries() []Entry {
	on := []Resource{NodeSets(), Controllers(), Clusters(), Namespaces()}
	of := func(name, help string, value func(s partitionSelection) uint64) Entry {
		return Entry{Name: name, Resources: on, Help: help, partitionsValue: value}
	}
	oldest := of("slurm_partition_oldest_pending_seconds",
		"Time since the submission of the job that has been pending longest; 0 if no job is pending.",
		partitionSelection.oldestPending)
	oldest.takesLargest = true
	return []Entry{
		of("slurm_partition_pending_jobs", "Pending jobs, whatever their reason; every array task counts.",
			partitionSelection.pendingJobs),
		of("slurm_partition_eligible_pending_jobs", "Pending jobs that more nodes would help.",
			partitionSelection.eligibleJobs),
		of("slurm_partition_pending_nodes",
			"Nodes that eligible pending jobs need in addition to idle and booting nodes.",
			partitionSelection.pendingNodes),
		of("slurm_partition_required_nodes", "Nodes that are needed now: busy nodes and pending nodes.",
			partitionSelection.requiredNodes),
		of("slurm_partition_idle_nodes", "Nodes that have no job and can start one now.", partitionSelection.idleNodes),
		of("slurm_partition_busy_nodes", "Nodes with work or in an active reservation.", partitionSelection.busyNodes),
		of("slurm_partition_running_jobs", "Running jobs.", partitionSelection.runningJobs),
		oldest,
	}
}
