package collector

import (
	"slices"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// vpensoCollector uses the names that Grafana dashboard 4323 queries.
func vpensoCollector() exposition.Collector {
	return exposition.Collector{
		Name: "vpenso", Set: exposition.Vpenso, OptIn: true,
		Help: "names of the vpenso exporter, which Grafana dashboard 4323 queries",
		Needs: []slurmclient.Resource{
			slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Stats, slurmclient.Shares,
		},
		Families: slices.Concat(
			tallyFamilies("slurm_account_", []string{"account"}, vpensoJobs(),
				func(v *tally.View) []labelledTally[*tally.Jobs] {
					return talliesByName(tally.LimitJobs(v.JobTotals.ByAccount, v.Limits.Accounts), asLabels)
				}),
			tallyFamilies("slurm_user_", []string{"user"}, vpensoJobs(),
				func(v *tally.View) []labelledTally[*tally.Jobs] {
					return talliesByName(tally.LimitJobs(v.JobTotals.ByUser, v.Limits.Users), asLabels)
				}),
			tallyFamilies("slurm_", nil, vpensoCluster(), clusterTally),
			vpensoNodes(),
			tallyFamilies("slurm_partition_", []string{"partition"}, vpensoPartition(), nodeTalliesByPartition),
			tallyFamilies("slurm_partition_", []string{"partition"}, []tallyFigure[*tally.Jobs]{
				jobBaseFigure("jobs_pending", "Pending jobs", slurm.JobPending),
			}, jobTalliesByPartition),
			vpensoQueue(), vpensoFairshare(), vpensoScheduler(),
		),
	}
}

func vpensoJobs() []tallyFigure[*tally.Jobs] {
	return []tallyFigure[*tally.Jobs]{
		jobBaseFigure("jobs_pending", "Pending jobs", slurm.JobPending),
		jobBaseFigure("jobs_running", "Running jobs", slurm.JobRunning),
		{"cpus_running", "CPUs allocated to running jobs",
			func(t *tally.Jobs) float64 { return float64(t.Running.CPUs) }},
		jobBaseFigure("jobs_suspended", "Suspended jobs", slurm.JobSuspended),
	}
}

func vpensoCluster() []tallyFigure[*tally.Nodes] {
	return []tallyFigure[*tally.Nodes]{
		{"cpus_alloc", "Allocated CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Allocated) }},
		{"cpus_idle", "Idle CPUs that jobs can use", func(t *tally.Nodes) float64 { return float64(t.CPUs.Idle) }},
		{"cpus_other", "Idle CPUs of nodes that are down or drained",
			func(t *tally.Nodes) float64 { return float64(t.CPUs.Other) }},
		{"cpus_total", "CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Total()) }},
		{"gpus_alloc", "Allocated GPUs", func(t *tally.Nodes) float64 { return float64(t.AllGPUs.Allocated) }},
		{"gpus_idle", "Idle GPUs that jobs can use", func(t *tally.Nodes) float64 { return float64(t.AllGPUs.Idle) }},
		{"gpus_total", "GPUs", func(t *tally.Nodes) float64 { return float64(t.AllGPUs.Total()) }},
		{"gpus_utilization", "Ratio of allocated GPUs to all GPUs", func(t *tally.Nodes) float64 {
			return ratioOf(t.AllGPUs.Allocated, t.AllGPUs.Total())
		}},
		nodeWordFigure("nodes_alloc", "Nodes that are allocated", "allocated"),
		nodeWordFigure("nodes_comp", "Nodes that are completing", "completing"),
		nodeWordFigure("nodes_down", "Nodes that are down", "down"),
		{"nodes_drain", "Nodes that are drained or draining",
			func(t *tally.Nodes) float64 { return float64(t.ByWord["drained"] + t.ByWord["draining"]) }},
		nodeWordFigure("nodes_err", "Nodes in error", "error"),
		{"nodes_fail", "Nodes that are failed or failing",
			func(t *tally.Nodes) float64 { return float64(t.ByWord["fail"] + t.ByWord["failing"]) }},
		nodeWordFigure("nodes_idle", "Nodes that are idle", "idle"),
		nodeWordFigure("nodes_maint", "Nodes in maintenance", "maint"),
		nodeWordFigure("nodes_mix", "Nodes that are mixed", "mixed"),
		nodeWordFigure("nodes_resv", "Nodes that are reserved", "reserved"),
	}
}

func ratioOf(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func vpensoNodes() []exposition.Family {
	node := func(name, help string, of func(n *tally.NodeFacts) uint64) exposition.Family {
		return labelledNodeFamily(name, help, []string{"status"},
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(of(n), n.Name, n.Word) })
	}
	free := func(n *tally.NodeFacts) uint64 { return uint64(n.EffectiveCPUs - min(n.EffectiveCPUs, n.AllocCPUs)) }
	return []exposition.Family{
		node("slurm_node_cpu_alloc", "Allocated CPUs.", func(n *tally.NodeFacts) uint64 { return uint64(n.AllocCPUs) }),
		node("slurm_node_cpu_idle", "Idle CPUs that jobs can use.", func(n *tally.NodeFacts) uint64 {
			if !n.Usable {
				return 0
			}
			return free(n)
		}),
		node("slurm_node_cpu_other", "Idle CPUs that jobs cannot use because the node is down or drained.",
			func(n *tally.NodeFacts) uint64 {
				if n.Usable {
					return 0
				}
				return free(n)
			}),
		node("slurm_node_cpu_total", "CPUs.", func(n *tally.NodeFacts) uint64 { return uint64(n.EffectiveCPUs) }),
		node("slurm_node_mem_alloc", "Allocated memory, in MiB.",
			func(n *tally.NodeFacts) uint64 { return n.AllocMemoryMiB }),
		node("slurm_node_mem_total", "Memory, in MiB.", func(n *tally.NodeFacts) uint64 { return n.MemoryMiB }),
	}
}

func vpensoPartition() []tallyFigure[*tally.Nodes] {
	return []tallyFigure[*tally.Nodes]{
		{"cpus_allocated", "Allocated CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Allocated) }},
		{"cpus_idle", "Idle CPUs that jobs can use", func(t *tally.Nodes) float64 { return float64(t.CPUs.Idle) }},
		{"cpus_other", "Idle CPUs of nodes that are down or drained",
			func(t *tally.Nodes) float64 { return float64(t.CPUs.Other) }},
		{"cpus_total", "CPUs", func(t *tally.Nodes) float64 { return float64(t.CPUs.Total()) }},
	}
}

func vpensoQueue() []exposition.Family {
	out := tallyFamilies("slurm_queue_", nil, []tallyFigure[*tally.Jobs]{
		jobBaseFigure("pending", "Pending jobs", slurm.JobPending),
		jobBaseFigure("running", "Running jobs", slurm.JobRunning),
		jobBaseFigure("suspended", "Suspended jobs", slurm.JobSuspended),
		jobBaseFigure("cancelled", "Cancelled jobs", slurm.JobCancelled),
		jobFlagFigure("completing", "Completing jobs", slurm.JobCompleting),
		jobBaseFigure("completed", "Completed jobs", slurm.JobCompleted),
		jobFlagFigure("configuring", "Configuring jobs", slurm.JobConfiguring),
		jobBaseFigure("failed", "Failed jobs", slurm.JobFailed),
		jobBaseFigure("timeout", "Jobs that reached their time limit", slurm.JobTimeout),
		jobBaseFigure("preempted", "Preempted jobs", slurm.JobPreempted),
		jobBaseFigure("node_fail", "Jobs whose node failed", slurm.JobNodeFail),
	}, queueTally)
	return append(out, exposition.Family{Name: "slurm_queue_pending_dependency", Kind: exposition.Gauge,
		Help:   "Pending jobs that wait for a dependency.",
		Labels: nil, Values: func(v *tally.View, out *exposition.Samples) {
			if v.JobTotals != nil {
				out.AddCount(v.JobTotals.ByReason["Dependency"])
			}
		}})
}

func vpensoFairshare() []exposition.Family {
	return []exposition.Family{{Name: "slurm_account_fairshare", Kind: exposition.Gauge,
		Help: "Fair-share factor of the account.", Labels: []string{"account"},
		Values: func(v *tally.View, out *exposition.Samples) {
			seen := map[string]bool{}
			for _, s := range v.Shares.Value {
				if !s.User && !seen[s.Name] {
					out.AddFloat(s.Factor, s.Name)
					seen[s.Name] = true
				}
			}
		}}}
}

// vpensoScheduler reports microseconds, as the dashboard expects.
func vpensoScheduler() []exposition.Family {
	return statFamilies("slurm_scheduler_", []statFigure{
		{"threads", "Threads of slurmctld that serve requests",
			func(s *slurm.Stats) float64 { return float64(s.ServerThreads) }},
		{"queue_size", "Messages that wait for an agent",
			func(s *slurm.Stats) float64 { return float64(s.AgentQueue) }},
		{"dbd_queue_size", "Messages that wait for slurmdbd",
			func(s *slurm.Stats) float64 { return float64(s.DBDAgentQueue) }},
		{"last_cycle", "Duration of the last cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Main.CycleLastMicros) }},
		{"mean_cycle", "Mean duration of a cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Main.CycleMeanMicros) }},
		{"cycle_per_minute", "Cycles per minute",
			func(s *slurm.Stats) float64 { return float64(s.Main.CyclesPerMinute) }},
		{"backfill_last_cycle", "Duration of the last backfill cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.CycleLastMicros) }},
		{"backfill_mean_cycle", "Mean duration of a backfill cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.CycleMeanMicros) }},
		{"backfill_depth_mean", "Mean number of jobs that backfill considered",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthMean) }},
		{"backfilled_jobs_since_start_total", "Jobs started by backfill since slurmctld started",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledJobs) }},
		{"backfilled_jobs_since_cycle_total", "Jobs started by backfill since the last reset",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastBackfilledJobs) }},
		{"backfilled_heterogeneous_total", "Heterogeneous components started by backfill",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledHetJobs) }},
	})
}
