package collector

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slinkyCollector uses the names of Slinky's slurm-exporter. All of them are gauges, including
// those that end in _total.
func slinkyCollector() exposition.Collector {
	jobs := func(prefix string, labels []string,
		of func(*tally.View) []labelledTally[*tally.Jobs]) []exposition.Family {
		return tallyFamilies(prefix, labels, slinkyJobs(), of)
	}
	families := slices.Concat(
		tallyFamilies("slurm_", nil, slinkyNodeStates(), clusterTally),
		slinkyNodeResources(),
		jobs("slurm_", nil, queueTally),
		jobs("slurm_partition_", []string{"partition"}, jobTalliesByPartition),
		tallyFamilies("slurm_partition_", []string{"partition"}, []tallyFigure[*tally.Jobs]{
			{"jobs_pending_maxnodecount_total", "Largest number of nodes that a pending job requests",
				func(t *tally.Jobs) float64 { return float64(t.MaxNodesUnheld) }},
		}, jobTalliesByPartition),
		tallyFamilies("slurm_partition_", []string{"partition"},
			slices.Concat(slinkyNodeStates(), slinkyPartitionNodes()), nodeTalliesByPartition),
		jobs("slurm_user_", []string{"userid", "username"}, func(v *tally.View) []labelledTally[*tally.Jobs] {
			return talliesByName(tally.LimitJobs(v.JobTotals.ByUser, v.Limits.Users), func(name string) []string {
				if name == tally.RestLabelValue {
					return []string{tally.RestLabelValue, tally.RestLabelValue}
				}
				return []string{strconv.FormatUint(uint64(v.JobTotals.UserID[name]), 10), name}
			})
		}),
		jobs("slurm_account_", []string{"account"}, func(v *tally.View) []labelledTally[*tally.Jobs] {
			return talliesByName(tally.LimitJobs(v.JobTotals.ByAccount, v.Limits.Accounts), asLabels)
		}),
		slinkyScheduler(), slinkyBackfill(),
	)
	return exposition.Collector{
		Name: "slinky", Set: exposition.Slinky, OptIn: true, Help: "names of Slinky's slurm-exporter",
		Needs: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions,
			slurmclient.Stats},
		Families: families,
	}
}

// tallyFigure is a named number that a tally provides.
type tallyFigure[T any] struct {
	name, help string
	value      func(T) float64 // NaN if it is not known
}

// labelledTally is a tally with its label values.
type labelledTally[T any] struct {
	labels []string
	tally  T
}

// tallyFamilies returns a family for each figure, with a sample for each tally.
func tallyFamilies[T any](
	prefix string, labels []string, figures []tallyFigure[T], of func(*tally.View) []labelledTally[T],
) []exposition.Family {
	var out []exposition.Family
	for _, f := range figures {
		out = append(out, exposition.Family{Name: prefix + f.name, Kind: exposition.Gauge, Help: f.help + ".",
			Labels: labels, Values: func(v *tally.View, out *exposition.Samples) {
				if v.JobTotals == nil || v.NodeTotals == nil {
					return
				}
				for _, t := range of(v) {
					if value := f.value(t.tally); !math.IsNaN(value) {
						out.Add(value, t.labels...)
					}
				}
			}})
	}
	return out
}

func clusterTally(v *tally.View) []labelledTally[*tally.Nodes] {
	return []labelledTally[*tally.Nodes]{{nil, &v.NodeTotals.All}}
}
func queueTally(v *tally.View) []labelledTally[*tally.Jobs] {
	return []labelledTally[*tally.Jobs]{{nil, &v.JobTotals.All}}
}

func asLabels(name string) []string { return []string{name} }

func talliesByName[T any](m map[string]*T, labels func(string) []string) []labelledTally[*T] {
	var out []labelledTally[*T]
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, labelledTally[*T]{labels(name), m[name]})
	}
	return out
}

// talliesByPartition returns a tally for every partition, an empty one where m has none.
func talliesByPartition[T any](v *tally.View, m map[string]*T) []labelledTally[*T] {
	var out []labelledTally[*T]
	for _, p := range v.Partitions.Value {
		t := m[p.Name]
		if t == nil {
			t = new(T)
		}
		out = append(out, labelledTally[*T]{[]string{p.Name}, t})
	}
	return out
}

func jobTalliesByPartition(v *tally.View) []labelledTally[*tally.Jobs] {
	return talliesByPartition(v, v.JobTotals.ByPartition)
}

func nodeTalliesByPartition(v *tally.View) []labelledTally[*tally.Nodes] {
	return talliesByPartition(v, v.NodeTotals.ByPartition)
}

func nodeBaseFigure(name, what string, b slurm.NodeBase) tallyFigure[*tally.Nodes] {
	return tallyFigure[*tally.Nodes]{name, what, func(t *tally.Nodes) float64 { return float64(t.InState(b)) }}
}

func nodeFlagFigure(name, what string, f slurm.NodeFlags) tallyFigure[*tally.Nodes] {
	return tallyFigure[*tally.Nodes]{name, what, func(t *tally.Nodes) float64 { return float64(t.WithFlag(f)) }}
}

func jobBaseFigure(name, what string, b slurm.JobBase) tallyFigure[*tally.Jobs] {
	return tallyFigure[*tally.Jobs]{name, what, func(t *tally.Jobs) float64 { return float64(t.InState(b)) }}
}

func jobFlagFigure(name, what string, f slurm.JobFlags) tallyFigure[*tally.Jobs] {
	return tallyFigure[*tally.Jobs]{name, what, func(t *tally.Jobs) float64 { return float64(t.WithFlag(f)) }}
}

func slinkyNodeStates() []tallyFigure[*tally.Nodes] {
	return []tallyFigure[*tally.Nodes]{
		{"nodes_total", "Nodes", func(t *tally.Nodes) float64 { return float64(t.Total) }},
		nodeBaseFigure("nodes_allocated_total", "Nodes that are allocated", slurm.NodeAllocated),
		nodeBaseFigure("nodes_down_total", "Nodes that are down", slurm.NodeDown),
		nodeBaseFigure("nodes_error_total", "Nodes in error", slurm.NodeError),
		nodeBaseFigure("nodes_future_total", "Nodes that are FUTURE records", slurm.NodeFuture),
		nodeBaseFigure("nodes_idle_total", "Nodes that are idle", slurm.NodeIdle),
		nodeBaseFigure("nodes_mixed_total", "Nodes that are mixed", slurm.NodeMixed),
		nodeBaseFigure("nodes_unknown_total", "Nodes in an unknown state", slurm.NodeUnknown),
		nodeFlagFigure("nodes_completing_total", "Nodes with the flag COMPLETING", slurm.NodeCompleting),
		nodeFlagFigure("nodes_drain_total", "Nodes with the flag DRAIN", slurm.NodeDrain),
		nodeFlagFigure("nodes_fail_total", "Nodes with the flag FAIL", slurm.NodeFail),
		nodeFlagFigure("nodes_maintenance_total", "Nodes with the flag MAINTENANCE", slurm.NodeMaintenance),
		nodeFlagFigure("nodes_notresponding_total", "Nodes with the flag NOT_RESPONDING", slurm.NodeNotResponding),
		nodeFlagFigure("nodes_planned_total", "Nodes with the flag PLANNED", slurm.NodePlanned),
		nodeFlagFigure("nodes_rebootrequested_total", "Nodes with the flag REBOOT_REQUESTED",
			slurm.NodeRebootRequested),
		nodeFlagFigure("nodes_reserved_total", "Nodes with the flag RESERVED", slurm.NodeReserved),
	}
}

func slinkyPartitionNodes() []tallyFigure[*tally.Nodes] {
	return []tallyFigure[*tally.Nodes]{
		{"nodes_cpus_total", "CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Total()) }},
		{"nodes_cpus_effective_total", "CPUs that jobs may use",
			func(t *tally.Nodes) float64 { return float64(t.EffectiveCPUs) }},
		{"nodes_cpus_alloc_total", "Allocated CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Allocated) }},
		{"nodes_cpus_idle_total", "CPUs that are not allocated",
			func(t *tally.Nodes) float64 { return float64(t.CPUs.Idle + t.CPUs.Other) }},
		{"nodes_memory_bytes", "Memory",
			func(t *tally.Nodes) float64 { return float64(t.MemoryMiB.Total()) * mebibyte }},
		{"nodes_memory_effective_bytes", "Memory that jobs may use",
			func(t *tally.Nodes) float64 { return float64(t.AvailableMiB) * mebibyte }},
		{"nodes_memory_alloc_bytes", "Allocated memory",
			func(t *tally.Nodes) float64 { return float64(t.MemoryMiB.Allocated) * mebibyte }},
		{"nodes_memory_free_bytes", "Free memory as the operating systems report it",
			func(t *tally.Nodes) float64 { return float64(t.FreeMiB) * mebibyte }},
	}
}

func slinkyNodeResources() []exposition.Family {
	return []exposition.Family{
		nodeFamily("slurm_node_cpus_total", "CPUs.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.CPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_effective_total", "CPUs that jobs may use.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.EffectiveCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_alloc_total", "Allocated CPUs.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.AllocCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_idle_total", "CPUs that are not allocated.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.IdleCPUs), n.Name) }),
		nodeFamily("slurm_node_memory_bytes", "Memory.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_effective_bytes", "Memory that jobs may use.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(effectiveMiB(n))*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_alloc_bytes", "Allocated memory.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_free_bytes", "Free memory as the operating system reports it.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddNumber(n.FreeMemoryMiB, mebibyte, n.Name) }),
	}
}

func effectiveMiB(n *tally.NodeFacts) uint64 {
	return n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB)
}

func slinkyJobs() []tallyFigure[*tally.Jobs] {
	return []tallyFigure[*tally.Jobs]{
		{"jobs_total", "Jobs", func(t *tally.Jobs) float64 { return float64(t.Total) }},
		jobBaseFigure("jobs_bootfail_total", "Jobs in BOOT_FAIL", slurm.JobBootFail),
		jobBaseFigure("jobs_cancelled_total", "Jobs in CANCELLED", slurm.JobCancelled),
		jobBaseFigure("jobs_completed_total", "Jobs in COMPLETED", slurm.JobCompleted),
		jobBaseFigure("jobs_deadline_total", "Jobs in DEADLINE", slurm.JobDeadline),
		jobBaseFigure("jobs_failed_total", "Jobs in FAILED", slurm.JobFailed),
		jobBaseFigure("jobs_pending_total", "Jobs in PENDING", slurm.JobPending),
		jobBaseFigure("jobs_preempted_total", "Jobs in PREEMPTED", slurm.JobPreempted),
		jobBaseFigure("jobs_running_total", "Jobs in RUNNING", slurm.JobRunning),
		jobBaseFigure("jobs_suspended_total", "Jobs in SUSPENDED", slurm.JobSuspended),
		jobBaseFigure("jobs_timeout_total", "Jobs in TIMEOUT", slurm.JobTimeout),
		jobBaseFigure("jobs_nodefail_total", "Jobs in NODE_FAIL", slurm.JobNodeFail),
		jobBaseFigure("jobs_outofmemory_total", "Jobs in OUT_OF_MEMORY", slurm.JobOutOfMemory),
		jobFlagFigure("jobs_completing_total", "Jobs with the flag COMPLETING", slurm.JobCompleting),
		jobFlagFigure("jobs_configuring_total", "Jobs with the flag CONFIGURING", slurm.JobConfiguring),
		jobFlagFigure("jobs_powerupnode_total", "Jobs with the flag POWER_UP_NODE", slurm.JobPowerUpNode),
		jobFlagFigure("jobs_stageout_total", "Jobs with the flag STAGE_OUT", slurm.JobStageOut),
		{"jobs_hold_total", "Pending jobs that are held", func(t *tally.Jobs) float64 { return float64(t.Held) }},
		{"jobs_cpus_alloc_total", "CPUs allocated to running jobs",
			func(t *tally.Jobs) float64 { return float64(t.Running.CPUs) }},
		{"jobs_memory_alloc_bytes", "Memory allocated to running jobs",
			func(t *tally.Jobs) float64 { return float64(t.Running.MemoryMiB) * mebibyte }},
	}
}
