package collector

import (
	"math"
	"slices"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// openmetricsCollector uses the names of slurmctld's own endpoint, where every metric is a
// gauge. slurmctld sums CPUs in 16 bits, reports megabytes as bytes and counts a job of several
// partitions in one of them. Here sums do not overflow, names with bytes are in bytes, other
// memory is in MiB as in slurmctld, and a job counts in each of its partitions.
func openmetricsCollector() exposition.Collector {
	cluster := slices.Concat([]tallyFigure[*tally.Nodes]{
		{"nodes", "Nodes", func(t *tally.Nodes) float64 { return float64(t.Total) }},
	}, openmetricsNodeStates("nodes_"), []tallyFigure[*tally.Nodes]{
		nodeFlagFigure("nodes_completing", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlagFigure("nodes_noresp", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlagFigure("nodes_reboot_req", "Nodes with the flag REBOOT_REQUESTED", slurm.NodeRebootRequested),
	})
	users := func(v *tally.View) []labelledTally[*tally.Jobs] {
		return talliesByName(tally.LimitJobs(v.JobTotals.ByUser, v.Limits.Users),
			asLabels)
	}
	accounts := func(v *tally.View) []labelledTally[*tally.Jobs] {
		return talliesByName(tally.LimitJobs(v.JobTotals.ByAccount, v.Limits.Accounts), asLabels)
	}
	return exposition.Collector{
		Name: "openmetrics", Set: exposition.OpenMetrics, OptIn: true,
		Help:  "names of slurmctld's own OpenMetrics endpoint",
		Needs: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Stats},
		Families: slices.Concat(
			tallyFamilies("slurm_", nil, cluster, clusterTally),
			openmetricsNodes(),
			tallyFamilies("slurm_", nil, openmetricsJobs(), queueTally),
			[]exposition.Family{{Name: "slurm_partitions", Kind: exposition.Gauge, Help: "Partitions.", Labels: nil,
				Values: putPartitionCount}},
			tallyFamilies("slurm_partition_", []string{"partition"},
				slices.Concat(openmetricsJobs(), openmetricsSizes()), jobTalliesByPartition),
			tallyFamilies("slurm_partition_", []string{"partition"}, openmetricsPartition(), nodeTalliesByPartition),
			tallyFamilies("slurm_user_", []string{"username"}, openmetricsJobs(), users),
			tallyFamilies("slurm_account_", []string{"account"}, openmetricsJobs(), accounts),
			openmetricsScheduler(),
		),
	}
}

// putPartitionCount adds the number of partitions once they have been read.
func putPartitionCount(v *tally.View, out *exposition.Samples) {
	if v.Partitions.Known {
		out.AddCount(uint64(len(v.Partitions.Value)))
	}
}

func nodeWordFigure(name, what, word string) tallyFigure[*tally.Nodes] {
	return tallyFigure[*tally.Nodes]{name, what, func(t *tally.Nodes) float64 { return float64(t.ByWord[word]) }}
}

// openmetricsNodeStates returns the figures that exist for the cluster and for each partition.
func openmetricsNodeStates(prefix string) []tallyFigure[*tally.Nodes] {
	return []tallyFigure[*tally.Nodes]{
		nodeBaseFigure(prefix+"alloc", "Nodes that are allocated", slurm.NodeAllocated),
		nodeFlagFigure(prefix+"blocked", "Nodes with the flag BLOCKED", slurm.NodeBlocked),
		nodeFlagFigure(prefix+"cloud", "Nodes with the flag CLOUD", slurm.NodeCloud),
		nodeBaseFigure(prefix+"down", "Nodes that are down", slurm.NodeDown),
		nodeFlagFigure(prefix+"drain", "Nodes with the flag DRAIN", slurm.NodeDrain),
		nodeWordFigure(prefix+"drained", "Nodes that are drained and have no work", "drained"),
		nodeWordFigure(prefix+"draining", "Nodes that are drained and still have work", "draining"),
		nodeFlagFigure(prefix+"dyn_future", "Nodes with the flag DYNAMIC_FUTURE", slurm.NodeDynamicFuture),
		nodeFlagFigure(prefix+"dyn_normal", "Nodes with the flag DYNAMIC_NORM", slurm.NodeDynamicNorm),
		nodeFlagFigure(prefix+"external", "Nodes with the flag EXTERNAL", slurm.NodeExternalFlag),
		nodeFlagFigure(prefix+"fail", "Nodes with the flag FAIL", slurm.NodeFail),
		nodeBaseFigure(prefix+"future", "Nodes that are FUTURE records", slurm.NodeFuture),
		nodeBaseFigure(prefix+"idle", "Nodes that are idle", slurm.NodeIdle),
		nodeFlagFigure(prefix+"invalid_reg", "Nodes with the flag INVALID_REG", slurm.NodeInvalidReg),
		nodeFlagFigure(prefix+"maint", "Nodes with the flag MAINTENANCE", slurm.NodeMaintenance),
		nodeBaseFigure(prefix+"mixed", "Nodes that are mixed", slurm.NodeMixed),
		nodeFlagFigure(prefix+"planned", "Nodes with the flag PLANNED", slurm.NodePlanned),
		nodeFlagFigure(prefix+"power_down", "Nodes with the flag POWER_DOWN", slurm.NodePowerDown),
		nodeFlagFigure(prefix+"power_up", "Nodes with the flag POWER_UP", slurm.NodePowerUp),
		nodeFlagFigure(prefix+"powered_down", "Nodes with the flag POWERED_DOWN", slurm.NodePoweredDown),
		nodeFlagFigure(prefix+"powering_down", "Nodes with the flag POWERING_DOWN", slurm.NodePoweringDown),
		nodeFlagFigure(prefix+"powering_up", "Nodes with the flag POWERING_UP", slurm.NodePoweringUp),
		nodeFlagFigure(prefix+"reboot_issued", "Nodes with the flag REBOOT_ISSUED", slurm.NodeRebootIssued),
		nodeFlagFigure(prefix+"resv", "Nodes with the flag RESERVED", slurm.NodeReserved),
		nodeBaseFigure(prefix+"unknown", "Nodes in an unknown state", slurm.NodeUnknown),
	}
}

func openmetricsNodes() []exposition.Family {
	gpus := func(n *tally.NodeFacts, of func(g tally.GPUCount) uint64) (sum uint64) {
		for _, g := range n.GPUs {
			sum += of(g)
		}
		return sum
	}
	return []exposition.Family{
		nodeFamily("slurm_node_cpus", "CPUs.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.CPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_alloc", "Allocated CPUs.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.AllocCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_effective", "CPUs that jobs may use.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.EffectiveCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_idle", "CPUs that are not allocated.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.IdleCPUs), n.Name) }),
		nodeFamily("slurm_node_gpus", "GPUs.", func(n *tally.NodeFacts, out *exposition.Samples) {
			out.AddCount(gpus(n, func(g tally.GPUCount) uint64 { return g.Total }), n.Name)
		}),
		nodeFamily("slurm_node_gpus_alloc", "Allocated GPUs.", func(n *tally.NodeFacts, out *exposition.Samples) {
			out.AddCount(gpus(n, func(g tally.GPUCount) uint64 { return g.Used }), n.Name)
		}),
		nodeFamily("slurm_node_memory_alloc_bytes", "Allocated memory.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_effective_bytes", "Memory that jobs may use.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(effectiveMiB(n))*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_free_bytes", "Free memory as the operating system reports it.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddNumber(n.FreeMemoryMiB, mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_bytes", "Memory.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
	}
}

func allocatedGPUs(t *tally.Jobs) float64 {
	if t.Running.HasUnknownGPUs {
		return math.NaN()
	}
	return float64(t.Running.GPUs)
}

func openmetricsJobs() []tallyFigure[*tally.Jobs] {
	return []tallyFigure[*tally.Jobs]{
		{"jobs", "Jobs", func(t *tally.Jobs) float64 { return float64(t.Total) }},
		jobBaseFigure("jobs_bootfail", "Jobs in BOOT_FAIL", slurm.JobBootFail),
		jobBaseFigure("jobs_cancelled", "Jobs in CANCELLED", slurm.JobCancelled),
		jobBaseFigure("jobs_completed", "Jobs in COMPLETED", slurm.JobCompleted),
		jobFlagFigure("jobs_completing", "Jobs with the flag COMPLETING", slurm.JobCompleting),
		jobFlagFigure("jobs_configuring", "Jobs with the flag CONFIGURING", slurm.JobConfiguring),
		{"jobs_cpus_alloc", "CPUs allocated to running jobs",
			func(t *tally.Jobs) float64 { return float64(t.Running.CPUs) }},
		jobBaseFigure("jobs_deadline", "Jobs in DEADLINE", slurm.JobDeadline),
		jobFlagFigure("jobs_expediting", "Jobs with the flag EXPEDITING", slurm.JobExpediting),
		jobBaseFigure("jobs_failed", "Jobs in FAILED", slurm.JobFailed),
		jobFlagFigure("jobs_fed_requeued", "Jobs with the flag REQUEUE_FED", slurm.JobRequeueFed),
		{"jobs_finished", "Finished jobs", func(t *tally.Jobs) float64 { return float64(t.Finished()) }},
		{"jobs_gpus_alloc", "GPUs allocated to running jobs", allocatedGPUs},
		{"jobs_hold", "Pending jobs that are held", func(t *tally.Jobs) float64 { return float64(t.Held) }},
		{"jobs_memory_alloc", "Memory allocated to running jobs, in MiB",
			func(t *tally.Jobs) float64 { return float64(t.Running.MemoryMiB) }},
		jobBaseFigure("jobs_node_failed", "Jobs in NODE_FAIL", slurm.JobNodeFail),
		{"jobs_nodes_alloc", "Nodes allocated to running jobs, summed over jobs",
			func(t *tally.Jobs) float64 { return float64(t.Running.Nodes) }},
		jobBaseFigure("jobs_outofmemory", "Jobs in OUT_OF_MEMORY", slurm.JobOutOfMemory),
		jobBaseFigure("jobs_pending", "Jobs in PENDING", slurm.JobPending),
		jobFlagFigure("jobs_powerup_node", "Jobs with the flag POWER_UP_NODE", slurm.JobPowerUpNode),
		jobBaseFigure("jobs_preempted", "Jobs in PREEMPTED", slurm.JobPreempted),
		jobFlagFigure("jobs_requeued", "Jobs with the flag REQUEUED", slurm.JobRequeued),
		jobFlagFigure("jobs_resizing", "Jobs with the flag RESIZING", slurm.JobResizing),
		jobFlagFigure("jobs_revoked", "Jobs with the flag REVOKED", slurm.JobRevoked),
		jobBaseFigure("jobs_running", "Jobs in RUNNING", slurm.JobRunning),
		jobFlagFigure("jobs_signaling", "Jobs with the flag SIGNALING", slurm.JobSignaling),
		jobFlagFigure("jobs_stageout", "Jobs with the flag STAGE_OUT", slurm.JobStageOut),
		{"jobs_started", "Jobs that have started, which are all but pending jobs",
			func(t *tally.Jobs) float64 { return float64(t.Total - t.InState(slurm.JobPending)) }},
		jobBaseFigure("jobs_suspended", "Jobs in SUSPENDED", slurm.JobSuspended),
		jobBaseFigure("jobs_timeout", "Jobs in TIMEOUT", slurm.JobTimeout),
	}
}

func openmetricsSizes() []tallyFigure[*tally.Jobs] {
	return []tallyFigure[*tally.Jobs]{
		{"jobs_max_job_nodes", "Largest number of nodes that a pending job requests",
			func(t *tally.Jobs) float64 { return float64(t.MaxNodes) }},
		{"jobs_max_job_nodes_nohold", "Largest number of nodes that a pending job requests, without held jobs",
			func(t *tally.Jobs) float64 { return float64(t.MaxNodesUnheld) }},
		{"jobs_min_job_nodes", "Smallest number of nodes that a pending job requests",
			func(t *tally.Jobs) float64 { return float64(t.MinNodes) }},
		{"jobs_min_job_nodes_nohold", "Smallest number of nodes that a pending job requests, without held jobs",
			func(t *tally.Jobs) float64 { return float64(t.MinNodesUnheld) }},
		{"jobs_wait_part_node_limit", "Pending jobs that wait for the partition's node limit",
			func(t *tally.Jobs) float64 { return float64(t.WaitingForNodeLimit) }},
	}
}

func openmetricsPartition() []tallyFigure[*tally.Nodes] {
	return slices.Concat(openmetricsNodeStates("nodes_"), []tallyFigure[*tally.Nodes]{
		nodeFlagFigure("nodes_cg", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlagFigure("nodes_no_resp", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlagFigure("nodes_reboot_requested", "Nodes with the flag REBOOT_REQUESTED", slurm.NodeRebootRequested),
		{"nodes_cpus_efctv", "CPUs that jobs may use",
			func(t *tally.Nodes) float64 { return float64(t.EffectiveCPUs) }},
		{"nodes_cpus_idle", "CPUs that are not allocated",
			func(t *tally.Nodes) float64 { return float64(t.CPUs.Idle + t.CPUs.Other) }},
		{"nodes_cpus_alloc", "Allocated CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Allocated) }},
		{"nodes_mem_alloc", "Allocated memory, in MiB",
			func(t *tally.Nodes) float64 { return float64(t.MemoryMiB.Allocated) }},
		{"nodes_mem_avail", "Memory that jobs may use, in MiB",
			func(t *tally.Nodes) float64 { return float64(t.AvailableMiB) }},
		{"nodes_mem_free", "Free memory as the operating systems report it, in MiB",
			func(t *tally.Nodes) float64 { return float64(t.FreeMiB) }},
		{"nodes_mem_tot", "Memory, in MiB", func(t *tally.Nodes) float64 { return float64(t.MemoryMiB.Total()) }},
		{"cpus", "CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Total()) }},
		{"gpus", "GPUs", func(t *tally.Nodes) float64 { return float64(t.AllGPUs.Total()) }},
		{"nodes", "Nodes", func(t *tally.Nodes) float64 { return float64(t.Total) }},
	})
}
