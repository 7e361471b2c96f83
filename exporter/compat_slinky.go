package exporter

import (
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slinkyCollector uses the names of Slinky's slurm-exporter. All of them are gauges, including
// those that end in _total.
func slinkyCollector() collector {
	jobs := func(prefix string, labels []string, of func(*view) []labelled[*jobTally]) []family {
		return tallyFamilies(prefix, labels, slinkyJobs(), of)
	}
	families := slices.Concat(
		tallyFamilies("slurm_", nil, slinkyNodeStates(), wholeCluster),
		slinkyNodeResources(),
		jobs("slurm_", nil, wholeQueue),
		jobs("slurm_partition_", []string{"partition"}, queuePerPartition),
		tallyFamilies("slurm_partition_", []string{"partition"}, []named[*jobTally]{
			{"jobs_pending_maxnodecount_total", "Largest number of nodes that a pending job requests",
				func(t *jobTally) float64 { return float64(t.mostFree) }},
		}, queuePerPartition),
		tallyFamilies("slurm_partition_", []string{"partition"},
			slices.Concat(slinkyNodeStates(), slinkyPartitionNodes()), nodesPerPartition),
		jobs("slurm_user_", []string{"userid", "username"}, func(v *view) []labelled[*jobTally] {
			return eachOf(limited(v.jobs.byUser, v.limits.Users), func(name string) []string {
				if name == Rest {
					return []string{Rest, Rest}
				}
				return []string{strconv.FormatUint(uint64(v.jobs.userID[name]), 10), name}
			})
		}),
		jobs("slurm_account_", []string{"account"}, func(v *view) []labelled[*jobTally] {
			return eachOf(limited(v.jobs.byAccount, v.limits.Accounts), oneLabel)
		}),
		slinkyScheduler(), slinkyBackfill(),
	)
	return collector{
		name: "slinky", set: Slinky, off: true, help: "names of Slinky's slurm-exporter",
		needs: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
			slurmclient.Stats},
		families: families,
	}
}

// tallyFigure is a named number that a tally provides.
type named[T any] struct {
	name, what string
	of         func(T) float64
}

// labelledTally is a tally with its label values.
type labelled[T any] struct {
	labels []string
	tally  T
}

// tallyFamilies returns a family for each figure, with a sample for each tally.
func tallyFamilies[T any](
	prefix string, labels []string, figures []named[T], of func(*view) []labelled[T],
) []family {
	var out []family
	for _, f := range figures {
		out = append(out, family{prefix + f.name, gauge, f.what + ".", labels, func(v *view, out *samples) {
			if v.jobs == nil || v.nodes == nil {
				return
			}
			for _, t := range of(v) {
				out.add(f.of(t.tally), t.labels...)
			}
		}})
	}
	return out
}

func wholeCluster(v *view) []labelled[*nodeTally] {
	return []labelled[*nodeTally]{{nil, &v.nodes.all}}
}
func wholeQueue(v *view) []labelled[*jobTally] { return []labelled[*jobTally]{{nil, &v.jobs.all}} }

func oneLabel(name string) []string { return []string{name} }

func eachOf[T any](m map[string]*T, labels func(string) []string) []labelled[*T] {
	var out []labelled[*T]
	for _, name := range sorted(m) {
		out = append(out, labelled[*T]{labels(name), m[name]})
	}
	return out
}

// talliesByPartition returns a tally for every partition, an empty one where m has none.
func perPartition[T any](v *view, m map[string]*T) []labelled[*T] {
	var out []labelled[*T]
	for _, p := range v.Partitions.Value {
		t := m[p.Name]
		if t == nil {
			t = new(T)
		}
		out = append(out, labelled[*T]{[]string{p.Name}, t})
	}
	return out
}

func queuePerPartition(v *view) []labelled[*jobTally] { return perPartition(v, v.jobs.byPartition) }

func nodesPerPartition(v *view) []labelled[*nodeTally] { return perPartition(v, v.nodes.byPartition) }

func nodeBase(name, what string, b slurm.NodeBase) named[*nodeTally] {
	return named[*nodeTally]{name, what, func(t *nodeTally) float64 { return float64(t.of(b)) }}
}

func nodeFlag(name, what string, f slurm.NodeFlags) named[*nodeTally] {
	return named[*nodeTally]{name, what, func(t *nodeTally) float64 { return float64(t.with(f)) }}
}

func jobBase(name, what string, b slurm.JobBase) named[*jobTally] {
	return named[*jobTally]{name, what, func(t *jobTally) float64 { return float64(t.of(b)) }}
}

func jobFlag(name, what string, f slurm.JobFlags) named[*jobTally] {
	return named[*jobTally]{name, what, func(t *jobTally) float64 { return float64(t.with(f)) }}
}

func slinkyNodeStates() []named[*nodeTally] {
	return []named[*nodeTally]{
		{"nodes_total", "Nodes", func(t *nodeTally) float64 { return float64(t.total) }},
		nodeBase("nodes_allocated_total", "Nodes that are allocated", slurm.NodeAllocated),
		nodeBase("nodes_down_total", "Nodes that are down", slurm.NodeDown),
		nodeBase("nodes_error_total", "Nodes in error", slurm.NodeError),
		nodeBase("nodes_future_total", "Nodes that are FUTURE records", slurm.NodeFuture),
		nodeBase("nodes_idle_total", "Nodes that are idle", slurm.NodeIdle),
		nodeBase("nodes_mixed_total", "Nodes that are mixed", slurm.NodeMixed),
		nodeBase("nodes_unknown_total", "Nodes in an unknown state", slurm.NodeUnknown),
		nodeFlag("nodes_completing_total", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlag("nodes_drain_total", "Nodes with the flag DRAIN", slurm.NodeDrain),
		nodeFlag("nodes_fail_total", "Nodes with the flag FAIL", slurm.NodeFail),
		nodeFlag("nodes_maintenance_total", "Nodes with the flag MAINTENANCE", slurm.NodeMaintenance),
		nodeFlag("nodes_notresponding_total", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlag("nodes_planned_total", "Nodes with the flag PLANNED", slurm.NodePlanned),
		nodeFlag("nodes_rebootrequested_total", "Nodes with the flag REBOOT_REQUESTED", slurm.NodeRebootRequested),
		nodeFlag("nodes_reserved_total", "Nodes with the flag RESERVED", slurm.NodeReserved),
	}
}

func slinkyPartitionNodes() []named[*nodeTally] {
	return []named[*nodeTally]{
		{"nodes_cpus_total", "CPUs", func(t *nodeTally) float64 { return float64(t.cpus.total()) }},
		{"nodes_cpus_effective_total", "CPUs that jobs may use",
			func(t *nodeTally) float64 { return float64(t.effectiveCPUs) }},
		{"nodes_cpus_alloc_total", "Allocated CPUs", func(t *nodeTally) float64 { return float64(t.cpus.allocated) }},
		{"nodes_cpus_idle_total", "CPUs that are not allocated",
			func(t *nodeTally) float64 { return float64(t.cpus.idle + t.cpus.other) }},
		{"nodes_memory_bytes", "Memory",
			func(t *nodeTally) float64 { return float64(t.memoryMiB.total()) * mebibyte }},
		{"nodes_memory_effective_bytes", "Memory that jobs may use",
			func(t *nodeTally) float64 { return float64(t.availableMiB) * mebibyte }},
		{"nodes_memory_alloc_bytes", "Allocated memory",
			func(t *nodeTally) float64 { return float64(t.memoryMiB.allocated) * mebibyte }},
		{"nodes_memory_free_bytes", "Free memory as the operating systems report it",
			func(t *nodeTally) float64 { return float64(t.freeMiB) * mebibyte }},
	}
}

func slinkyNodeResources() []family {
	return []family{
		each("slurm_node_cpus_total", "CPUs.", func(n *nodeFacts, out *samples) { out.n(uint64(n.CPUs), n.Name) }),
		each("slurm_node_cpus_effective_total", "CPUs that jobs may use.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.EffectiveCPUs), n.Name) }),
		each("slurm_node_cpus_alloc_total", "Allocated CPUs.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.AllocCPUs), n.Name) }),
		each("slurm_node_cpus_idle_total", "CPUs that are not allocated.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.IdleCPUs), n.Name) }),
		each("slurm_node_memory_bytes", "Memory.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
		each("slurm_node_memory_effective_bytes", "Memory that jobs may use.",
			func(n *nodeFacts, out *samples) { out.add(float64(effectiveMiB(n))*mebibyte, n.Name) }),
		each("slurm_node_memory_alloc_bytes", "Allocated memory.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		each("slurm_node_memory_free_bytes", "Free memory as the operating system reports it.",
			func(n *nodeFacts, out *samples) { out.number(n.FreeMemoryMiB, mebibyte, n.Name) }),
	}
}

func effectiveMiB(n *nodeFacts) uint64 { return n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB) }

func slinkyJobs() []named[*jobTally] {
	return []named[*jobTally]{
		{"jobs_total", "Jobs", func(t *jobTally) float64 { return float64(t.total) }},
		jobBase("jobs_bootfail_total", "Jobs in BOOT_FAIL", slurm.JobBootFail),
		jobBase("jobs_cancelled_total", "Jobs in CANCELLED", slurm.JobCancelled),
		jobBase("jobs_completed_total", "Jobs in COMPLETED", slurm.JobCompleted),
		jobBase("jobs_deadline_total", "Jobs in DEADLINE", slurm.JobDeadline),
		jobBase("jobs_failed_total", "Jobs in FAILED", slurm.JobFailed),
		jobBase("jobs_pending_total", "Jobs in PENDING", slurm.JobPending),
		jobBase("jobs_preempted_total", "Jobs in PREEMPTED", slurm.JobPreempted),
		jobBase("jobs_running_total", "Jobs in RUNNING", slurm.JobRunning),
		jobBase("jobs_suspended_total", "Jobs in SUSPENDED", slurm.JobSuspended),
		jobBase("jobs_timeout_total", "Jobs in TIMEOUT", slurm.JobTimeout),
		jobBase("jobs_nodefail_total", "Jobs in NODE_FAIL", slurm.JobNodeFail),
		jobBase("jobs_outofmemory_total", "Jobs in OUT_OF_MEMORY", slurm.JobOutOfMemory),
		jobFlag("jobs_completing_total", "Jobs with the flag COMPLETING", slurm.JobCompleting),
		jobFlag("jobs_configuring_total", "Jobs with the flag CONFIGURING", slurm.JobConfiguring),
		jobFlag("jobs_powerupnode_total", "Jobs with the flag POWER_UP_NODE", slurm.JobPowerUpNode),
		jobFlag("jobs_stageout_total", "Jobs with the flag STAGE_OUT", slurm.JobStageOut),
		{"jobs_hold_total", "Pending jobs that are held", func(t *jobTally) float64 { return float64(t.held) }},
		{"jobs_cpus_alloc_total", "CPUs allocated to running jobs",
			func(t *jobTally) float64 { return float64(t.running.cpus) }},
		{"jobs_memory_alloc_bytes", "Memory allocated to running jobs",
			func(t *jobTally) float64 { return float64(t.running.memoryMiB) * mebibyte }},
	}
}
