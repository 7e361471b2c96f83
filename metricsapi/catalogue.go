package metricsapi

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// Entry is a metric that can be asked for.
type Entry struct {
	// Name is the metric's name, the same as the exporter's where that has one too.
	Name string
	// On are the resources whose objects have it.
	On []Resource
	// Help is a sentence for people.
	Help string

	// Exactly one of the two gives the value: of a NodeSet's pool, or of some
	// partitions of one cluster.
	pool       func(p *demand.PoolDemand) uint64
	partitions func(s selection) uint64
	// largest: the value for several clusters is the largest and not the sum.
	largest bool
}

// Has reports whether objects of the resource have the metric.
func (e Entry) Has(of Resource) bool {
	return slices.ContainsFunc(e.On, func(r Resource) bool { return r.GroupResource == of.GroupResource })
}

// OfPartitions reports whether the metric is one of partitions, so that a selector
// over the label "partition" makes sense.
func (e Entry) OfPartitions() bool { return e.partitions != nil }

// Catalogue lists every metric, in the order in which they are documented.
func Catalogue() []Entry { return slices.Concat(nodeSetEntries(), partitionEntries()) }

// unsatisfiableJobs is by reason where there are labels.
const unsatisfiableJobs = "slurm_nodeset_unsatisfiable_jobs"

func nodeSetEntries() []Entry {
	of := func(name, help string, value func(p *demand.PoolDemand) uint64) Entry {
		return Entry{Name: name, On: []Resource{NodeSets()}, Help: help, pool: value}
	}
	return []Entry{
		of("slurm_nodeset_required_nodes", "Nodes that the NodeSet should run now, between its minimum and maximum: the metric for HPAs.",
			func(p *demand.PoolDemand) uint64 { return p.Required }),
		of("slurm_nodeset_busy_nodes", "Nodes of the NodeSet with work, or in a reservation that is active.",
			func(p *demand.PoolDemand) uint64 { return p.Busy }),
		of("slurm_nodeset_idle_nodes", "Nodes of the NodeSet that can start a job now and have none.",
			func(p *demand.PoolDemand) uint64 { return p.Idle }),
		of("slurm_nodeset_pending_nodes", "Nodes that eligible pending jobs need of the NodeSet beyond those that are idle or booting.",
			func(p *demand.PoolDemand) uint64 { return p.Pending }),
		of("slurm_nodeset_booting_nodes", "Nodes of the NodeSet that can start a job soon.",
			func(p *demand.PoolDemand) uint64 { return p.Booting }),
		of("slurm_nodeset_unusable_nodes", "Nodes of the NodeSet that are down, drained or failed and have no work.",
			func(p *demand.PoolDemand) uint64 { return p.Unusable }),
		of(unsatisfiableJobs, "Pending jobs that the NodeSet could not run with all the nodes that it may have.", unsatisfiable),
	}
}

func unsatisfiable(p *demand.PoolDemand) uint64 {
	var n uint64
	for _, u := range p.Unsatisfiable {
		n += u.Jobs
	}
	return n
}

func partitionEntries() []Entry {
	on := []Resource{NodeSets(), Controllers(), Clusters(), Namespaces()}
	of := func(name, help string, value func(s selection) uint64) Entry {
		return Entry{Name: name, On: on, Help: help, partitions: value}
	}
	oldest := of("slurm_partition_oldest_pending_seconds", "How long ago the longest waiting pending job was submitted; 0 when none is pending.", selection.oldestPending)
	oldest.largest = true
	return []Entry{
		of("slurm_partition_pending_jobs", "Pending jobs, whatever they wait for: every array task counts.", selection.pendingJobs),
		of("slurm_partition_eligible_pending_jobs", "Pending jobs that more nodes would help.", selection.eligibleJobs),
		of("slurm_partition_pending_nodes", "Nodes that eligible pending jobs need beyond those that are idle or booting.", selection.pendingNodes),
		of("slurm_partition_required_nodes", "Nodes that are needed now: the busy ones and the pending ones.", selection.requiredNodes),
		of("slurm_partition_idle_nodes", "Nodes that can start a job now and have none.", selection.idleNodes),
		of("slurm_partition_busy_nodes", "Nodes with work, or in a reservation that is active.", selection.busyNodes),
		of("slurm_partition_running_jobs", "Jobs that run.", selection.runningJobs),
		oldest,
	}
}
