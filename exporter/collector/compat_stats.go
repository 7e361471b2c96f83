package collector

import (
	"math"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// statFigure is one number of sdiag under another exporter's name.
type statFigure struct {
	name, help string
	// value returns NaN if the server does not report the number.
	value func(s *slurm.Stats) float64
}

func statFamilies(prefix string, figures []statFigure) []exposition.Family {
	var out []exposition.Family
	for _, f := range figures {
		out = append(out, statFamily(prefix+f.name, exposition.Gauge, f.help+".",
			func(s *slurm.Stats, out *exposition.Samples) {
				if value := f.value(s); !math.IsNaN(value) {
					out.Add(value)
				}
			}))
	}
	return out
}

// numberOrNaN converts n; an absent, unset or infinite number becomes NaN.
func numberOrNaN(n slurm.Number) float64 {
	if v, ok := n.Value(); ok {
		return float64(v)
	}
	return math.NaN()
}

func slinkyScheduler() []exposition.Family {
	exit := func(name string) func(*slurm.Stats) float64 {
		return func(s *slurm.Stats) float64 { return float64(s.Main.Exit[name]) }
	}
	return statFamilies("slurm_scheduler_", []statFigure{
		{"cycle_depth_total", "Jobs considered in all cycles",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Main.Depth) }},
		{"cycle_last_seconds", "Duration of the last cycle",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Main.CycleLastMicros) }},
		{"cycle_max_seconds", "Duration of the longest cycle",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Main.CycleMaxMicros) }},
		{"cycle_mean_seconds", "Mean duration of a cycle",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Main.CycleMeanMicros) }},
		{"cycle_depth_mean_total", "Mean number of jobs considered in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Main.MeanDepth) }},
		{"cycle_perminute_total", "Cycles per minute",
			func(s *slurm.Stats) float64 { return float64(s.Main.CyclesPerMinute) }},
		{"cycle_sum_seconds_total", "Total time of all cycles",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Main.CycleSumMicros) * micro }},
		{"cycle_total", "Cycles", func(s *slurm.Stats) float64 { return float64(s.Main.Cycles) }},
		{"queue_total", "Jobs in the queue", func(s *slurm.Stats) float64 { return float64(s.Main.QueueLength) }},
		{"defaultqueuedepth_total", "Cycles that ended at the default queue depth", exit("default_queue_depth")},
		{"endjobqueue_total", "Cycles that ended at the end of the queue", exit("end_job_queue")},
		{"licenses_total", "Cycles that ended because no licences were available", exit("licenses")},
		{"maxjobstart_total", "Cycles that ended at the limit of jobs to start", exit("max_job_start")},
		{"maxrpc_total", "Cycles that ended because too many RPCs were active", exit("max_rpc_cnt")},
		{"maxschedtime_total", "Cycles that ended at the time limit", exit("max_sched_time")},
		{"jobs_canceled_total", "Jobs cancelled", func(s *slurm.Stats) float64 { return float64(s.JobsCanceled) }},
		{"jobs_completed_total", "Jobs completed", func(s *slurm.Stats) float64 { return float64(s.JobsCompleted) }},
		{"jobs_failed_total", "Jobs failed", func(s *slurm.Stats) float64 { return float64(s.JobsFailed) }},
		{"jobs_pending_total", "Jobs pending", func(s *slurm.Stats) float64 { return float64(s.JobsPending) }},
		{"jobs_running_total", "Jobs running", func(s *slurm.Stats) float64 { return float64(s.JobsRunning) }},
		{"jobs_stats_timestamp", "When the jobs were counted by state, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.JobStatesAt) }},
		{"jobs_started_total", "Jobs started", func(s *slurm.Stats) float64 { return float64(s.JobsStarted) }},
		{"jobs_submitted_total", "Jobs submitted", func(s *slurm.Stats) float64 { return float64(s.JobsSubmitted) }},
		{"agent_total", "Agents", func(s *slurm.Stats) float64 { return float64(s.Agents) }},
		{"agent_queue_total", "Messages that wait for an agent",
			func(s *slurm.Stats) float64 { return float64(s.AgentQueue) }},
		{"agent_thread_total", "Threads of all agents",
			func(s *slurm.Stats) float64 { return float64(s.AgentThreads) }},
		{"thread_total", "Threads of slurmctld that serve requests",
			func(s *slurm.Stats) float64 { return float64(s.ServerThreads) }},
		{"dbdagentqueue_total", "Messages that wait for slurmdbd",
			func(s *slurm.Stats) float64 { return float64(s.DBDAgentQueue) }},
	})
}

func slinkyBackfill() []exposition.Family {
	exit := func(name string) func(*slurm.Stats) float64 {
		return func(s *slurm.Stats) float64 { return float64(s.Backfill.Exit[name]) }
	}
	return statFamilies("slurm_bfscheduler_", []statFigure{
		{"active_bool", "1 while backfill is in a cycle",
			func(s *slurm.Stats) float64 { return exposition.OneIf(s.Backfill.Active) }},
		{"backfilledhetjobs_total", "Heterogeneous components started by backfill",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledHetJobs) }},
		{"backfilledjobs_total", "Jobs started by backfill",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledJobs) }},
		{"lastbackfilledjobs_total", "Jobs started by backfill since the last reset",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastBackfilledJobs) }},
		{"cycle_total", "Cycles", func(s *slurm.Stats) float64 { return float64(s.Backfill.Cycles) }},
		{"cycle_seconds", "Duration of the last cycle",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Backfill.CycleLastMicros) }},
		{"cycle_max_seconds", "Duration of the longest cycle",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Backfill.CycleMaxMicros) * micro }},
		{"cycle_mean_seconds", "Mean duration of a cycle",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Backfill.CycleMeanMicros) }},
		{"cycle_sum_seconds", "Total time of all cycles",
			func(s *slurm.Stats) float64 { return secondsOfMicros(s.Backfill.CycleSumMicros) }},
		{"depth_mean_total", "Mean number of jobs considered in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthMean) }},
		{"depth_try_total", "Mean number of jobs tried in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthTryMean) }},
		{"depth_sum_total", "Jobs considered in all cycles",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthSum) }},
		{"depth_trysum_total", "Jobs tried in all cycles",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthTrySum) }},
		{"lastdepth_total", "Jobs considered in the last cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastDepth) }},
		{"lastdepthtry_total", "Jobs tried in the last cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastDepthTry) }},
		{"queue_total", "Jobs in the queue", func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLength) }},
		{"queue_mean_total", "Mean number of jobs in the queue",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLengthMean) }},
		{"queue_sum_total", "Sum of the lengths of the queue",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLengthSum) }},
		{"table_total", "Slots in the table", func(s *slurm.Stats) float64 { return float64(s.Backfill.TableSize) }},
		{"tablemean_total", "Mean number of slots in the table",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.TableSizeMean) }},
		{"tablesum_total", "Sum of the sizes of the table",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Backfill.TableSizeSum) }},
		{"lastcycle_timestamp", "When the last cycle began, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastCycleAt) }},
		{"endjobqueue_total", "Cycles that ended at the end of the queue", exit("end_job_queue")},
		{"maxjobstart_total", "Cycles that ended at the limit of jobs to start", exit("bf_max_job_start")},
		{"maxjobtest_total", "Cycles that ended at the limit of jobs to test", exit("bf_max_job_test")},
		{"maxtime_total", "Cycles that ended at the time limit", exit("bf_max_time")},
		{"nodespace_total", "Cycles that ended at the size limit of the table", exit("bf_node_space_size")},
		{"statechanged_total", "Cycles that ended because a state changed", exit("state_changed")},
	})
}

func openmetricsScheduler() []exposition.Family {
	main := func(name string) func(*slurm.Stats) float64 {
		return func(s *slurm.Stats) float64 { return float64(s.Main.Exit[name]) }
	}
	fill := func(name string) func(*slurm.Stats) float64 {
		return func(s *slurm.Stats) float64 { return float64(s.Backfill.Exit[name]) }
	}
	return statFamilies("slurm_", []statFigure{
		{"agent_cnt", "Agents", func(s *slurm.Stats) float64 { return float64(s.Agents) }},
		{"agent_queue_size", "Messages that wait for an agent",
			func(s *slurm.Stats) float64 { return float64(s.AgentQueue) }},
		{"agent_thread_cnt", "Threads of all agents",
			func(s *slurm.Stats) float64 { return float64(s.AgentThreads) }},
		{"bf_depth_mean", "Mean number of jobs that backfill considered in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthMean) }},
		{"bf_mean_cycle", "Mean duration of a backfill cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.CycleMeanMicros) }},
		{"bf_mean_table_sz", "Mean size of the backfill table",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.TableSizeMean) }},
		{"bf_queue_len_mean", "Mean length of the backfill queue",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLengthMean) }},
		{"bf_try_depth_mean", "Mean number of jobs that backfill tried in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthTryMean) }},
		{"backfilled_het_jobs", "Heterogeneous components started by backfill",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledHetJobs) }},
		{"backfilled_jobs", "Jobs started by backfill",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.BackfilledJobs) }},
		{"bf_active", "1 while backfill is in a cycle",
			func(s *slurm.Stats) float64 { return exposition.OneIf(s.Backfill.Active) }},
		{"bf_cycle_cnt", "Backfill cycles", func(s *slurm.Stats) float64 { return float64(s.Backfill.Cycles) }},
		{"bf_cycle_last", "Duration of the last backfill cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.CycleLastMicros) }},
		{"bf_cycle_max", "Duration of the longest backfill cycle in microseconds",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Backfill.CycleMaxMicros) }},
		{"bf_cycle_tot", "Total time of all backfill cycles in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.CycleSumMicros) }},
		{"bf_depth_tot", "Jobs that backfill considered",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthSum) }},
		{"bf_depth_try_tot", "Jobs that backfill tried",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.DepthTrySum) }},
		{"bf_last_depth", "Jobs that backfill considered in its last cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastDepth) }},
		{"bf_last_depth_try", "Jobs that backfill tried in its last cycle",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastDepthTry) }},
		{"bf_queue_len", "Jobs in the backfill queue",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLength) }},
		{"bf_queue_len_tot", "Sum of the lengths of the backfill queue",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.QueueLengthSum) }},
		{"bf_table_size", "Slots in the backfill table",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.TableSize) }},
		{"bf_table_size_tot", "Sum of the sizes of the backfill table",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Backfill.TableSizeSum) }},
		{"bf_when_last_cycle", "When the last backfill cycle began, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastCycleAt) }},
		{"sdiag_jobs_canceled", "Jobs cancelled", func(s *slurm.Stats) float64 { return float64(s.JobsCanceled) }},
		{"sdiag_jobs_completed", "Jobs completed", func(s *slurm.Stats) float64 { return float64(s.JobsCompleted) }},
		{"sdiag_jobs_failed", "Jobs failed", func(s *slurm.Stats) float64 { return float64(s.JobsFailed) }},
		{"sdiag_jobs_pending", "Jobs pending", func(s *slurm.Stats) float64 { return float64(s.JobsPending) }},
		{"sdiag_jobs_running", "Jobs running", func(s *slurm.Stats) float64 { return float64(s.JobsRunning) }},
		{"sdiag_jobs_started", "Jobs started", func(s *slurm.Stats) float64 { return float64(s.JobsStarted) }},
		{"sdiag_jobs_submitted", "Jobs submitted", func(s *slurm.Stats) float64 { return float64(s.JobsSubmitted) }},
		{"sdiag_job_states_ts", "When the jobs were counted by state, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.JobStatesAt) }},
		{"last_backfilled_jobs", "Jobs started by backfill since the last reset",
			func(s *slurm.Stats) float64 { return float64(s.Backfill.LastBackfilledJobs) }},
		{"sdiag_latency", "Time to read the clock 1,000 times, in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.ClockLatencyMicros) }},
		{"schedule_cycle_cnt", "Cycles of the main scheduler",
			func(s *slurm.Stats) float64 { return float64(s.Main.Cycles) }},
		{"schedule_cycle_depth", "Jobs that the main scheduler considered",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Main.Depth) }},
		{"schedule_cycle_last", "Duration of the last cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Main.CycleLastMicros) }},
		{"schedule_cycle_max", "Duration of the longest cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Main.CycleMaxMicros) }},
		{"schedule_cycle_tot", "Total time of all cycles in microseconds",
			func(s *slurm.Stats) float64 { return numberOrNaN(s.Main.CycleSumMicros) }},
		{"schedule_queue_len", "Jobs in the main scheduler's queue",
			func(s *slurm.Stats) float64 { return float64(s.Main.QueueLength) }},
		{"sched_exit_end", "Cycles that ended at the end of the queue", main("end_job_queue")},
		{"sched_exit_max_depth", "Cycles that ended at the default queue depth", main("default_queue_depth")},
		{"sched_exit_max_job_start", "Cycles that ended at the limit of jobs to start", main("max_job_start")},
		{"sched_exit_lic", "Cycles that ended because no licences were available", main("licenses")},
		{"sched_exit_rpc_cnt", "Cycles that ended because too many RPCs were active", main("max_rpc_cnt")},
		{"sched_exit_timeout", "Cycles that ended at the time limit", main("max_sched_time")},
		{"bf_exit_end", "Backfill cycles that ended at the end of the queue", fill("end_job_queue")},
		{"bf_exit_max_job_start", "Backfill cycles that ended at the limit of jobs to start",
			fill("bf_max_job_start")},
		{"bf_exit_max_job_test", "Backfill cycles that ended at the limit of jobs to test", fill("bf_max_job_test")},
		{"bf_exit_state_changed", "Backfill cycles that ended because a state changed", fill("state_changed")},
		{"bf_exit_table_limit", "Backfill cycles that ended at the size limit of the table",
			fill("bf_node_space_size")},
		{"bf_exit_timeout", "Backfill cycles that ended at the time limit", fill("bf_max_time")},
		{"sched_mean_cycle", "Mean duration of a cycle in microseconds",
			func(s *slurm.Stats) float64 { return float64(s.Main.CycleMeanMicros) }},
		{"sched_mean_depth_cycle", "Mean number of jobs considered in a cycle",
			func(s *slurm.Stats) float64 { return float64(s.Main.MeanDepth) }},
		{"server_thread_cnt", "Threads of slurmctld that serve requests",
			func(s *slurm.Stats) float64 { return float64(s.ServerThreads) }},
		{"slurmdbd_queue_size", "Messages that wait for slurmdbd",
			func(s *slurm.Stats) float64 { return float64(s.DBDAgentQueue) }},
		{"last_proc_req_start", "When slurmctld last reset its statistics, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.Since) }},
		{"sched_stats_timestamp", "When slurmctld collected the statistics, in Unix time",
			func(s *slurm.Stats) float64 { return float64(s.At) }},
	})
}
