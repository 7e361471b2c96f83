package exporter

import (
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// openmetricsCollector uses the names of slurmctld's own endpoint, where every metric is a
// gauge. slurmctld sums CPUs in 16 bits, reports megabytes as bytes and counts a job of several
// partitions in one of them. Here sums do not overflow, names with bytes are in bytes, other
// memory is in MiB as in slurmctld, and a job counts in each of its partitions.
func openmetricsCollector() collector {
	cluster := slices.Concat([]named[*nodeTally]{
		{"nodes", "Nodes", func(t *nodeTally) float64 { return float64(t.total) }},
	}, openmetricsNodeStates("nodes_"), []named[*nodeTally]{
		nodeFlag("nodes_completing", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlag("nodes_noresp", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlag("nodes_reboot_req", "Nodes with the flag REBOOT_REQUESTED", slurm.NodeRebootRequested),
	})
	users := func(v *view) []labelled[*jobTally] {
		return eachOf(limited(v.jobs.byUser, v.limits.Users),
			oneLabel)
	}
	accounts := func(v *view) []labelled[*jobTally] {
		return eachOf(limited(v.jobs.byAccount, v.limits.Accounts), oneLabel)
	}
	return collector{
		name: "openmetrics", set: OpenMetrics, off: true, help: "names of slurmctld's own OpenMetrics endpoint",
		needs: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Stats},
		families: slices.Concat(
			tallyFamilies("slurm_", nil, cluster, wholeCluster),
			openmetricsNodes(),
			tallyFamilies("slurm_", nil, openmetricsJobs(), wholeQueue),
			[]family{{"slurm_partitions", gauge, "Partitions.", nil, countPartitions}},
			tallyFamilies("slurm_partition_", []string{"partition"},
				slices.Concat(openmetricsJobs(), openmetricsSizes()), queuePerPartition),
			tallyFamilies("slurm_partition_", []string{"partition"}, openmetricsPartition(), nodesPerPartition),
			tallyFamilies("slurm_user_", []string{"username"}, openmetricsJobs(), users),
			tallyFamilies("slurm_account_", []string{"account"}, openmetricsJobs(), accounts),
			openmetricsScheduler(),
		),
	}
}

// putPartitionCount adds the number of partitions once they have been read.
func countPartitions(v *view, out *samples) {
	if v.Partitions.Known {
		out.n(uint64(len(v.Partitions.Value)))
	}
}

func nodeWord(name, what, word string) named[*nodeTally] {
	return named[*nodeTally]{name, what, func(t *nodeTally) float64 { return float64(t.words[word]) }}
}

// openmetricsNodeStates returns the figures that the cluster and its partitions have in common.
func openmetricsNodeStates(prefix string) []named[*nodeTally] {
	return []named[*nodeTally]{
		nodeBase(prefix+"alloc", "Nodes that are allocated", slurm.NodeAllocated),
		nodeFlag(prefix+"blocked", "Nodes with the flag BLOCKED", slurm.NodeBlocked),
		nodeFlag(prefix+"cloud", "Nodes with the flag CLOUD", slurm.NodeCloud),
		nodeBase(prefix+"down", "Nodes that are down", slurm.NodeDown),
		nodeFlag(prefix+"drain", "Nodes with the flag DRAIN", slurm.NodeDrain),
		nodeWord(prefix+"drained", "Nodes that are drained and have no work", "drained"),
		nodeWord(prefix+"draining", "Nodes that are drained and still have work", "draining"),
		nodeFlag(prefix+"dyn_future", "Nodes with the flag DYNAMIC_FUTURE", slurm.NodeDynamicFuture),
		nodeFlag(prefix+"dyn_normal", "Nodes with the flag DYNAMIC_NORM", slurm.NodeDynamicNorm),
		nodeFlag(prefix+"external", "Nodes with the flag EXTERNAL", slurm.NodeExternalFlag),
		nodeFlag(prefix+"fail", "Nodes with the flag FAIL", slurm.NodeFail),
		nodeBase(prefix+"future", "Nodes that are FUTURE records", slurm.NodeFuture),
		nodeBase(prefix+"idle", "Nodes that are idle", slurm.NodeIdle),
		nodeFlag(prefix+"invalid_reg", "Nodes with the flag INVALID_REG", slurm.NodeInvalidReg),
		nodeFlag(prefix+"maint", "Nodes with the flag MAINTENANCE", slurm.NodeMaintenance),
		nodeBase(prefix+"mixed", "Nodes that are mixed", slurm.NodeMixed),
		nodeFlag(prefix+"planned", "Nodes with the flag PLANNED", slurm.NodePlanned),
		nodeFlag(prefix+"power_down", "Nodes with the flag POWER_DOWN", slurm.NodePowerDown),
		nodeFlag(prefix+"power_up", "Nodes with the flag POWER_UP", slurm.NodePowerUp),
		nodeFlag(prefix+"powered_down", "Nodes with the flag POWERED_DOWN", slurm.NodePoweredDown),
		nodeFlag(prefix+"powering_down", "Nodes with the flag POWERING_DOWN", slurm.NodePoweringDown),
		nodeFlag(prefix+"powering_up", "Nodes with the flag POWERING_UP", slurm.NodePoweringUp),
		nodeFlag(prefix+"reboot_issued", "Nodes with the flag REBOOT_ISSUED", slurm.NodeRebootIssued),
		nodeFlag(prefix+"resv", "Nodes with the flag RESERVED", slurm.NodeReserved),
		nodeBase(prefix+"unknown", "Nodes in an unknown state", slurm.NodeUnknown),
	}
}

func openmetricsNodes() []family {
	gpus := func(n *nodeFacts, of func(g gpuCount) uint64) (sum uint64) {
		for _, g := range n.gpus {
			sum += of(g)
		}
		return sum
	}
	return []family{
		each("slurm_node_cpus", "CPUs.", func(n *nodeFacts, out *samples) { out.n(uint64(n.CPUs), n.Name) }),
		each("slurm_node_cpus_alloc", "Allocated CPUs.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.AllocCPUs), n.Name) }),
		each("slurm_node_cpus_effective", "CPUs that jobs may use.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.EffectiveCPUs), n.Name) }),
		each("slurm_node_cpus_idle", "CPUs that are not allocated.",
			func(n *nodeFacts, out *samples) { out.n(uint64(n.IdleCPUs), n.Name) }),
		each("slurm_node_gpus", "GPUs.", func(n *nodeFacts, out *samples) {
			out.n(gpus(n, func(g gpuCount) uint64 { return g.total }), n.Name)
		}),
		each("slurm_node_gpus_alloc", "Allocated GPUs.", func(n *nodeFacts, out *samples) {
			out.n(gpus(n, func(g gpuCount) uint64 { return g.used }), n.Name)
		}),
		each("slurm_node_memory_alloc_bytes", "Allocated memory.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		each("slurm_node_memory_effective_bytes", "Memory that jobs may use.",
			func(n *nodeFacts, out *samples) { out.add(float64(effectiveMiB(n))*mebibyte, n.Name) }),
		each("slurm_node_memory_free_bytes", "Free memory as the operating system reports it.",
			func(n *nodeFacts, out *samples) { out.number(n.FreeMemoryMiB, mebibyte, n.Name) }),
		each("slurm_node_memory_bytes", "Memory.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
	}
}

func openmetricsJobs() []named[*jobTally] {
	return []named[*jobTally]{
		{"jobs", "Jobs", func(t *jobTally) float64 { return float64(t.total) }},
		jobBase("jobs_bootfail", "Jobs in BOOT_FAIL", slurm.JobBootFail),
		jobBase("jobs_cancelled", "Jobs in CANCELLED", slurm.JobCancelled),
		jobBase("jobs_completed", "Jobs in COMPLETED", slurm.JobCompleted),
		jobFlag("jobs_completing", "Jobs with the flag COMPLETING", slurm.JobCompleting),
		jobFlag("jobs_configuring", "Jobs with the flag CONFIGURING", slurm.JobConfiguring),
		{"jobs_cpus_alloc", "CPUs allocated to running jobs",
			func(t *jobTally) float64 { return float64(t.running.cpus) }},
		jobBase("jobs_deadline", "Jobs in DEADLINE", slurm.JobDeadline),
		jobFlag("jobs_expediting", "Jobs with the flag EXPEDITING", slurm.JobExpediting),
		jobBase("jobs_failed", "Jobs in FAILED", slurm.JobFailed),
		jobFlag("jobs_fed_requeued", "Jobs with the flag REQUEUE_FED", slurm.JobRequeueFed),
		{"jobs_finished", "Finished jobs", func(t *jobTally) float64 { return float64(t.finished()) }},
		{"jobs_gpus_alloc", "GPUs allocated to running jobs",
			func(t *jobTally) float64 { return float64(t.running.gpus) }},
		{"jobs_hold", "Pending jobs that are held", func(t *jobTally) float64 { return float64(t.held) }},
		{"jobs_memory_alloc", "Memory allocated to running jobs, in MiB",
			func(t *jobTally) float64 { return float64(t.running.memoryMiB) }},
		jobBase("jobs_node_failed", "Jobs in NODE_FAIL", slurm.JobNodeFail),
		{"jobs_nodes_alloc", "Nodes allocated to running jobs, summed over jobs",
			func(t *jobTally) float64 { return float64(t.running.nodes) }},
		jobBase("jobs_outofmemory", "Jobs in OUT_OF_MEMORY", slurm.JobOutOfMemory),
		jobBase("jobs_pending", "Jobs in PENDING", slurm.JobPending),
		jobFlag("jobs_powerup_node", "Jobs with the flag POWER_UP_NODE", slurm.JobPowerUpNode),
		jobBase("jobs_preempted", "Jobs in PREEMPTED", slurm.JobPreempted),
		jobFlag("jobs_requeued", "Jobs with the flag REQUEUED", slurm.JobRequeued),
		jobFlag("jobs_resizing", "Jobs with the flag RESIZING", slurm.JobResizing),
		jobFlag("jobs_revoked", "Jobs with the flag REVOKED", slurm.JobRevoked),
		jobBase("jobs_running", "Jobs in RUNNING", slurm.JobRunning),
		jobFlag("jobs_signaling", "Jobs with the flag SIGNALING", slurm.JobSignaling),
		jobFlag("jobs_stageout", "Jobs with the flag STAGE_OUT", slurm.JobStageOut),
		{"jobs_started", "Jobs that have started, which are all but pending jobs",
			func(t *jobTally) float64 { return float64(t.total - t.of(slurm.JobPending)) }},
		jobBase("jobs_suspended", "Jobs in SUSPENDED", slurm.JobSuspended),
		jobBase("jobs_timeout", "Jobs in TIMEOUT", slurm.JobTimeout),
	}
}

func openmetricsSizes() []named[*jobTally] {
	return []named[*jobTally]{
		{"jobs_max_job_nodes", "Largest number of nodes that a pending job requests",
			func(t *jobTally) float64 { return float64(t.most) }},
		{"jobs_max_job_nodes_nohold", "Largest number of nodes that a pending job requests, without held jobs",
			func(t *jobTally) float64 { return float64(t.mostFree) }},
		{"jobs_min_job_nodes", "Smallest number of nodes that a pending job requests",
			func(t *jobTally) float64 { return float64(t.least) }},
		{"jobs_min_job_nodes_nohold", "Smallest number of nodes that a pending job requests, without held jobs",
			func(t *jobTally) float64 { return float64(t.leastFree) }},
		{"jobs_wait_part_node_limit", "Pending jobs that wait for the partition's node limit",
			func(t *jobTally) float64 { return float64(t.nodeLimit) }},
	}
}

func openmetricsPartition() []named[*nodeTally] {
	return slices.Concat(openmetricsNodeStates("nodes_"), []named[*nodeTally]{
		nodeFlag("nodes_cg", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlag("nodes_no_resp", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlag("nodes_reboot_requested", "Nodes with the flag REBOOT_REQUESTED", slurm.NodeRebootRequested),
		{"nodes_cpus_efctv", "CPUs that jobs may use",
			func(t *nodeTally) float64 { return float64(t.effectiveCPUs) }},
		{"nodes_cpus_idle", "CPUs that are not allocated",
			func(t *nodeTally) float64 { return float64(t.cpus.idle + t.cpus.other) }},
		{"nodes_cpus_alloc", "Allocated CPUs", func(t *nodeTally) float64 { return float64(t.cpus.allocated) }},
		{"nodes_mem_alloc", "Allocated memory, in MiB",
			func(t *nodeTally) float64 { return float64(t.memoryMiB.allocated) }},
		{"nodes_mem_avail", "Memory that jobs may use, in MiB",
			func(t *nodeTally) float64 { return float64(t.availableMiB) }},
		{"nodes_mem_free", "Free memory as the operating systems report it, in MiB",
			func(t *nodeTally) float64 { return float64(t.freeMiB) }},
		{"nodes_mem_tot", "Memory, in MiB", func(t *nodeTally) float64 { return float64(t.memoryMiB.total()) }},
		{"cpus", "CPUs", func(t *nodeTally) float64 { return float64(t.cpus.total()) }},
		{"gpus", "GPUs", func(t *nodeTally) float64 { return float64(t.allGPUs.total()) }},
		{"nodes", "Nodes", func(t *nodeTally) float64 { return float64(t.total) }},
	})
}
