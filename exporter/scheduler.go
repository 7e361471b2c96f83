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
	c.families = append(c.families, controllerFamilies()...)
	c.families = append(c.families, serverFamilies()...)
	c.families = append(c.families, mainFamilies()...)
	c.families = append(c.families, backfillFamilies()...)
	return c
}

func controllerFamilies() []family {
	return []family{
		{"slurm_controller_up", gauge, "1 if the slurmctld answers slurmrestd's ping.",
			[]string{"controller", "role"}, func(v *view, out *samples) {
				for _, p := range v.Pings.Value {
					out.flag(p.Responding, p.Hostname, role(p))
				}
			}},
		{"slurm_controller_latency_seconds", gauge, "How long the slurmctld took to answer slurmrestd's ping.",
			[]string{"controller", "role"}, func(v *view, out *samples) {
				for _, p := range v.Pings.Value {
					if p.Responding {
						out.add(micros(p.LatencyMicros), p.Hostname, role(p))
					}
				}
			}},
	}
}

func role(p slurm.Ping) string {
	if p.Primary {
		return "primary"
	}
	return "backup"
}

// statFamily returns a family without labels that reads the statistics of sdiag.
func stat(name string, k kind, help string, put func(s *slurm.Stats, out *samples)) family {
	return family{name, k, help, nil, stats(put)}
}

func stats(put func(s *slurm.Stats, out *samples)) func(*view, *samples) {
	return func(v *view, out *samples) {
		if v.Stats.Known && v.Stats.Value != nil {
			put(v.Stats.Value, out)
		}
	}
}

func serverFamilies() []family {
	return []family{
		stat("slurm_controller_stats_start_time_seconds", gauge,
			"When slurmctld last reset its statistics, in Unix time: at its start, at midnight UTC, or by sdiag --reset.",
			func(s *slurm.Stats, out *samples) { out.time(s.Since) }),
		stat("slurm_controller_server_threads", gauge, "Threads of slurmctld that serve requests.",
			func(s *slurm.Stats, out *samples) { out.n(s.ServerThreads) }),
		stat("slurm_controller_agents", gauge, "Active agents of slurmctld.",
			func(s *slurm.Stats, out *samples) { out.n(s.Agents) }),
		stat("slurm_controller_agent_threads", gauge, "Threads of all agents of slurmctld.",
			func(s *slurm.Stats, out *samples) { out.n(s.AgentThreads) }),
		stat("slurm_controller_agent_queue_length", gauge, "Messages to nodes that wait for an agent.",
			func(s *slurm.Stats, out *samples) { out.n(s.AgentQueue) }),
		stat("slurm_controller_dbd_queue_length", gauge, "Messages that wait for slurmdbd.",
			func(s *slurm.Stats, out *samples) { out.n(s.DBDAgentQueue) }),
		stat("slurm_controller_jobs_submitted_total", counter,
			"Jobs submitted since slurmctld reset its statistics; every array task counts.",
			func(s *slurm.Stats, out *samples) { out.n(s.JobsSubmitted) }),
		stat("slurm_controller_jobs_started_total", counter, "Jobs started since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.n(s.JobsStarted) }),
		stat("slurm_controller_jobs_completed_total", counter, "Jobs completed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.n(s.JobsCompleted) }),
		stat("slurm_controller_jobs_canceled_total", counter, "Jobs cancelled since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.n(s.JobsCanceled) }),
		stat("slurm_controller_jobs_failed_total", counter, "Jobs failed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *samples) { out.n(s.JobsFailed) }),
	}
}

func mainFamilies() []family {
	return []family{
		stat("slurm_scheduler_cycles_total", counter, "Cycles of the main scheduler.",
			func(s *slurm.Stats, out *samples) { out.n(s.Main.Cycles) }),
		stat("slurm_scheduler_cycle_seconds_total", counter, "Total time of all cycles of the main scheduler.",
			func(s *slurm.Stats, out *samples) { out.number(s.Main.CycleSumMicros, micro) }),
		stat("slurm_scheduler_last_cycle_seconds", gauge, "Duration of the main scheduler's last cycle.",
			func(s *slurm.Stats, out *samples) { out.add(micros(s.Main.CycleLastMicros)) }),
		stat("slurm_scheduler_longest_cycle_seconds", gauge, "Duration of the main scheduler's longest cycle.",
			func(s *slurm.Stats, out *samples) { out.add(micros(s.Main.CycleMaxMicros)) }),
		stat("slurm_scheduler_depth_total", counter, "Jobs that the main scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.number(s.Main.Depth, 1) }),
		stat("slurm_scheduler_queue_length", gauge, "Jobs in the main scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.n(s.Main.QueueLength) }),
		{"slurm_scheduler_exits_total", counter, "Cycles of the main scheduler by the reason for which they ended.",
			[]string{"reason"}, stats(func(s *slurm.Stats, out *samples) { putExits(out, s.Main.Exit) })},
	}
}

func backfillFamilies() []family {
	return []family{
		stat("slurm_backfill_active", gauge, "1 while the backfill scheduler is in a cycle.",
			func(s *slurm.Stats, out *samples) { out.flag(s.Backfill.Active) }),
		stat("slurm_backfill_jobs_total", counter, "Jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.BackfilledJobs) }),
		stat("slurm_backfill_het_jobs_total", counter,
			"Components of heterogeneous jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.BackfilledHetJobs) }),
		stat("slurm_backfill_cycles_total", counter, "Cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.Cycles) }),
		stat("slurm_backfill_cycle_seconds_total", counter, "Total time of all cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *samples) { out.add(micros(s.Backfill.CycleSumMicros)) }),
		stat("slurm_backfill_last_cycle_seconds", gauge, "Duration of the backfill scheduler's last cycle.",
			func(s *slurm.Stats, out *samples) { out.add(micros(s.Backfill.CycleLastMicros)) }),
		stat("slurm_backfill_longest_cycle_seconds", gauge, "Duration of the backfill scheduler's longest cycle.",
			func(s *slurm.Stats, out *samples) { out.number(s.Backfill.CycleMaxMicros, micro) }),
		stat("slurm_backfill_last_cycle_time_seconds", gauge,
			"When the backfill scheduler's last cycle began, in Unix time.",
			func(s *slurm.Stats, out *samples) { out.time(s.Backfill.LastCycleAt) }),
		stat("slurm_backfill_depth_total", counter, "Jobs that the backfill scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.DepthSum) }),
		stat("slurm_backfill_tried_depth_total", counter,
			"Jobs that the backfill scheduler tried to start, in all cycles.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.DepthTrySum) }),
		stat("slurm_backfill_last_depth", gauge, "Jobs that the backfill scheduler considered in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.LastDepth) }),
		stat("slurm_backfill_last_tried_depth", gauge,
			"Jobs that the backfill scheduler tried to start in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.LastDepthTry) }),
		stat("slurm_backfill_queue_length", gauge, "Jobs in the backfill scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.QueueLength) }),
		stat("slurm_backfill_table_size", gauge, "Time slots in the backfill scheduler's table in its last cycle.",
			func(s *slurm.Stats, out *samples) { out.n(s.Backfill.TableSize) }),
		{"slurm_backfill_exits_total", counter,
			"Cycles of the backfill scheduler by the reason for which they ended.", []string{"reason"},
			stats(func(s *slurm.Stats, out *samples) { putExits(out, s.Backfill.Exit) })},
	}
}

func putExits(out *samples, exits map[string]uint64) {
	for _, reason := range sorted(exits) {
		out.n(exits[reason], reason)
	}
}

func rpcCollector() collector {
	byType := func(name string, k kind, help string, put func(r slurm.RPC, out *samples)) family {
		return family{name, k, help, []string{"type"}, stats(func(s *slurm.Stats, out *samples) {
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
				func(r slurm.RPC, out *samples) { out.n(r.Count, r.Name) }),
			byType("slurm_rpc_seconds_total", counter, "Total time of remote procedure calls to slurmctld.",
				func(r slurm.RPC, out *samples) { out.add(micros(r.TotalMicros), r.Name) }),
			byType("slurm_rpc_queued", gauge, "Remote procedure calls in the queue of slurmctld's RPC manager.",
				func(r slurm.RPC, out *samples) { out.number(r.Queued, 1, r.Name) }),
			byType("slurm_rpc_dropped_total", counter, "Remote procedure calls that slurmctld's RPC manager dropped.",
				func(r slurm.RPC, out *samples) { out.number(r.Dropped, 1, r.Name) }),
			{"slurm_rpc_pending", gauge, "Messages that slurmctld has yet to send, by type.", []string{"type"},
				stats(func(s *slurm.Stats, out *samples) {
					for _, r := range s.PendingRPCs {
						out.n(r.Count, r.Name)
					}
				})},
		},
	}
}
