package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func schedulerCollector() collector {
	c := collector{
		name: "scheduler", set: Native,
		help:  "statistics of slurmctld, its main scheduler and its backfill scheduler, as in sdiag",
		needs: []slurmclient.Resource{slurmclient.Pings, slurmclient.Stats},
	}
	c.families = append(c.families, slurmctldFamilies()...)
	c.families = append(c.families, serverFamilies()...)
	c.families = append(c.families, mainSchedulerFamilies()...)
	c.families = append(c.families, backfillFamilies()...)
	return c
}

func slurmctldFamilies() []family {
	return []family{
		{"slurm_controller_up", gauge, "1 if the slurmctld answers slurmrestd's ping.",
			[]string{"controller", "role"}, func(v *snapshotView, out *samples) {
				for _, p := range v.Pings.Value {
					out.addFlag(p.Responding, p.Hostname, controllerRole(p))
				}
			}},
		{"slurm_controller_latency_seconds", gauge, "How long the slurmctld took to answer slurmrestd's ping.",
			[]string{"controller", "role"}, func(v *snapshotView, out *samples) {
				for _, p := range v.Pings.Value {
					if p.Responding {
						out.add(secondsOfMicros(p.LatencyMicros), p.Hostname, controllerRole(p))
					}
				}
			}},
	}
}

func controllerRole(p slurm.Ping) string {
	if p.Primary {
		return "primary"
	}
	return "backup"
}

// statFamily returns a family without labels that reads the statistics of sdiag.
func statFamily(name string, k metricKind, help string, put func(s *slurm.Stats, out *samples)) family {
	return family{name, k, help, nil, readStats(put)}
}

func readStats(put func(s *slurm.Stats, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		if v.Stats.Known && v.Stats.Value != nil {
			put(v.Stats.Value, out)
		}
	}
}

func serverFamilies() []family {
	return []family{
		statFamily("slurm_controller_stats_start_time_seconds", gauge,
			"When slurmctld last reset its statistics, in Unix time: at its start, at midnight UTC, or by sdiag --reset.",
			func(s *slurm.Stats, out *samples) { out.addTime(s.Since) }),
		statFamily("slurm_controller_server_threads", gauge, "Threads of slurmctld that serve requests.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.ServerThreads) }),
		statFamily("slurm_controller_agents", gauge, "Active agents of slurmctld.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Agents) }),
		statFamily("slurm_controller_agent_threads", gauge, "Threads of all agents of slurmctld.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.AgentThreads) }),
		statFamily("slurm_controller_agent_queue_length", gauge, "Messages to nodes that wait for an agent.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.AgentQueue) }),
		statFamily("slurm_controller_dbd_queue_length", gauge, "Messages that wait for slurmdbd.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.DBDAgentQueue) }),
		statFamily("slurm_controller_jobs_submitted_total", counter,
			"Jobs submitted since slurmctld reset its statistics; every array task counts.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.JobsSubmitted) }),
		statFamily("slurm_controller_jobs_started_total", counter, "Jobs started since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.JobsStarted) }),
		statFamily("slurm_controller_jobs_completed_total", counter, "Jobs completed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.JobsCompleted) }),
		statFamily("slurm_controller_jobs_canceled_total", counter, "Jobs cancelled since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.JobsCanceled) }),
		statFamily("slurm_controller_jobs_failed_total", counter, "Jobs failed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.JobsFailed) }),
	}
}

func mainSchedulerFamilies() []family {
	return []family{
		statFamily("slurm_scheduler_cycles_total", counter, "Cycles of the main scheduler.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Main.Cycles) }),
		statFamily("slurm_scheduler_cycle_seconds_total", counter, "Total time of all cycles of the main scheduler.",
			func(s *slurm.Stats, out *samples) { out.addNumber(s.Main.CycleSumMicros, micro) }),
		statFamily("slurm_scheduler_last_cycle_seconds", gauge, "Duration of the main scheduler's last cycle.",
			func(s *slurm.Stats, out *samples) { out.add(secondsOfMicros(s.Main.CycleLastMicros)) }),
		statFamily("slurm_scheduler_longest_cycle_seconds", gauge, "Duration of the main scheduler's longest cycle.",
			func(s *slurm.Stats, out *samples) { out.add(secondsOfMicros(s.Main.CycleMaxMicros)) }),
		statFamily("slurm_scheduler_depth_total", counter, "Jobs that the main scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.addNumber(s.Main.Depth, 1) }),
		statFamily("slurm_scheduler_queue_length", gauge, "Jobs in the main scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Main.QueueLength) }),
		{"slurm_scheduler_exits_total", counter, "Cycles of the main scheduler by the reason for which they ended.",
			[]string{"reason"}, readStats(func(s *slurm.Stats, out *samples) { putExits(out, s.Main.Exit) })},
	}
}

func backfillFamilies() []family {
	return []family{
		statFamily("slurm_backfill_active", gauge, "1 while the backfill scheduler is in a cycle.",
			func(s *slurm.Stats, out *samples) { out.addFlag(s.Backfill.Active) }),
		statFamily("slurm_backfill_jobs_total", counter, "Jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.BackfilledJobs) }),
		statFamily("slurm_backfill_het_jobs_total", counter,
			"Components of heterogeneous jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.BackfilledHetJobs) }),
		statFamily("slurm_backfill_cycles_total", counter, "Cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.Cycles) }),
		statFamily("slurm_backfill_cycle_seconds_total", counter, "Total time of all cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *samples) { out.add(secondsOfMicros(s.Backfill.CycleSumMicros)) }),
		statFamily("slurm_backfill_last_cycle_seconds", gauge, "Duration of the backfill scheduler's last cycle.",
			func(s *slurm.Stats, out *samples) { out.add(secondsOfMicros(s.Backfill.CycleLastMicros)) }),
		statFamily("slurm_backfill_longest_cycle_seconds", gauge, "Duration of the backfill scheduler's longest cycle.",
			func(s *slurm.Stats, out *samples) { out.addNumber(s.Backfill.CycleMaxMicros, micro) }),
		statFamily("slurm_backfill_last_cycle_time_seconds", gauge,
			"When the backfill scheduler's last cycle began, in Unix time.",
			func(s *slurm.Stats, out *samples) { out.addTime(s.Backfill.LastCycleAt) }),
		statFamily("slurm_backfill_depth_total", counter, "Jobs that the backfill scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.DepthSum) }),
		statFamily("slurm_backfill_tried_depth_total", counter,
			"Jobs that the backfill scheduler tried to start, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.DepthTrySum) }),
		statFamily("slurm_backfill_last_depth", gauge, "Jobs that the backfill scheduler considered in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.LastDepth) }),
		statFamily("slurm_backfill_last_tried_depth", gauge,
			"Jobs that the backfill scheduler tried to start in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.LastDepthTry) }),
		statFamily("slurm_backfill_queue_length", gauge, "Jobs in the backfill scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.QueueLength) }),
		statFamily("slurm_backfill_table_size", gauge, "Time slots in the backfill scheduler's table in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.addCount(s.Backfill.TableSize) }),
		{"slurm_backfill_exits_total", counter,
			"Cycles of the backfill scheduler by the reason for which they ended.", []string{"reason"},
			readStats(func(s *slurm.Stats, out *samples) { putExits(out, s.Backfill.Exit) })},
	}
}

func putExits(out *samples, exits map[string]uint64) {
	for _, reason := range sortedKeys(exits) {
		out.addCount(exits[reason], reason)
	}
}

func rpcCollector() collector {
	byType := func(name string, k metricKind, help string, put func(r slurm.RPC, out *samples)) family {
		return family{name, k, help, []string{"type"}, readStats(func(s *slurm.Stats, out *samples) {
			for _, r := range s.RPCsByType {
				put(r, out)
			}
		})}
	}
	return collector{
		name: "rpc", set: Native, help: "remote procedure calls to slurmctld by type, as in sdiag",
		needs: []slurmclient.Resource{slurmclient.Stats},
		families: []family{
			byType("slurm_rpc_requests_total", counter,
				"Remote procedure calls to slurmctld since it reset its statistics.",
				func(r slurm.RPC, out *samples) { out.addCount(r.Count, r.Name) }),
			byType("slurm_rpc_seconds_total", counter, "Total time of remote procedure calls to slurmctld.",
				func(r slurm.RPC, out *samples) { out.add(secondsOfMicros(r.TotalMicros), r.Name) }),
			byType("slurm_rpc_queued", gauge, "Remote procedure calls in the queue of slurmctld's RPC manager.",
				func(r slurm.RPC, out *samples) { out.addNumber(r.Queued, 1, r.Name) }),
			byType("slurm_rpc_dropped_total", counter, "Remote procedure calls that slurmctld's RPC manager dropped.",
				func(r slurm.RPC, out *samples) { out.addNumber(r.Dropped, 1, r.Name) }),
			{"slurm_rpc_pending", gauge, "Messages that slurmctld has yet to send, by type.", []string{"type"},
				readStats(func(s *slurm.Stats, out *samples) {
					for _, r := range s.PendingRPCs {
						out.addCount(r.Count, r.Name)
					}
				})},
		},
	}
}
