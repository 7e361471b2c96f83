package collector

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func schedulerCollector() exposition.Collector {
	c := exposition.Collector{
		Name: "scheduler", Set: exposition.Native,
		Help:  "statistics of slurmctld, its main scheduler and its backfill scheduler, as in sdiag",
		Needs: []slurmclient.Resource{slurmclient.Pings, slurmclient.Stats},
	}
	c.Families = append(c.Families, slurmctldFamilies()...)
	c.Families = append(c.Families, serverFamilies()...)
	c.Families = append(c.Families, mainSchedulerFamilies()...)
	c.Families = append(c.Families, backfillFamilies()...)
	return c
}

func slurmctldFamilies() []exposition.Family {
	return []exposition.Family{
		{Name: "slurm_controller_up", Kind: exposition.Gauge, Help: "1 if the slurmctld answers slurmrestd's ping.",
			Labels: []string{"controller", "role"}, Values: func(v *tally.View, out *exposition.Samples) {
				for _, p := range v.Pings.Value {
					out.AddFlag(p.Responding, p.Hostname, controllerRole(p))
				}
			}},
		{Name: "slurm_controller_latency_seconds", Kind: exposition.Gauge,
			Help:   "How long the slurmctld took to answer slurmrestd's ping.",
			Labels: []string{"controller", "role"}, Values: func(v *tally.View, out *exposition.Samples) {
				for _, p := range v.Pings.Value {
					if p.Responding {
						out.Add(secondsOfMicros(p.LatencyMicros), p.Hostname, controllerRole(p))
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
func statFamily(name string, k exposition.Kind, help string,
	put func(s *slurm.Stats, out *exposition.Samples)) exposition.Family {
	return exposition.Family{Name: name, Kind: k, Help: help, Labels: nil, Values: readStats(put)}
}

func readStats(put func(s *slurm.Stats, out *exposition.Samples)) func(*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		if v.Stats.Known && v.Stats.Value != nil {
			put(v.Stats.Value, out)
		}
	}
}

func serverFamilies() []exposition.Family {
	return []exposition.Family{
		statFamily("slurm_controller_stats_start_time_seconds", exposition.Gauge,
			"When slurmctld last reset its statistics, in Unix time: at its start, at midnight UTC, or by sdiag --reset.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddTime(s.Since) }),
		statFamily("slurm_controller_server_threads", exposition.Gauge, "Threads of slurmctld that serve requests.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.ServerThreads) }),
		statFamily("slurm_controller_agents", exposition.Gauge, "Active agents of slurmctld.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Agents) }),
		statFamily("slurm_controller_agent_threads", exposition.Gauge, "Threads of all agents of slurmctld.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.AgentThreads) }),
		statFamily("slurm_controller_agent_queue_length", exposition.Gauge, "Messages to nodes that wait for an agent.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.AgentQueue) }),
		statFamily("slurm_controller_dbd_queue_length", exposition.Gauge, "Messages that wait for slurmdbd.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.DBDAgentQueue) }),
		statFamily("slurm_controller_jobs_submitted_total", exposition.Counter,
			"Jobs submitted since slurmctld reset its statistics; every array task counts.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.JobsSubmitted) }),
		statFamily("slurm_controller_jobs_started_total", exposition.Counter,
			"Jobs started since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.JobsStarted) }),
		statFamily("slurm_controller_jobs_completed_total", exposition.Counter,
			"Jobs completed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.JobsCompleted) }),
		statFamily("slurm_controller_jobs_canceled_total", exposition.Counter,
			"Jobs cancelled since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.JobsCanceled) }),
		statFamily("slurm_controller_jobs_failed_total", exposition.Counter,
			"Jobs failed since slurmctld reset its statistics.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.JobsFailed) }),
	}
}

func mainSchedulerFamilies() []exposition.Family {
	return []exposition.Family{
		statFamily("slurm_scheduler_cycles_total", exposition.Counter, "Cycles of the main scheduler.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Main.Cycles) }),
		statFamily("slurm_scheduler_cycle_seconds_total", exposition.Counter,
			"Total time of all cycles of the main scheduler.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddNumber(s.Main.CycleSumMicros, micro) }),
		statFamily("slurm_scheduler_last_cycle_seconds", exposition.Gauge,
			"Duration of the main scheduler's last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.Add(secondsOfMicros(s.Main.CycleLastMicros)) }),
		statFamily("slurm_scheduler_longest_cycle_seconds", exposition.Gauge,
			"Duration of the main scheduler's longest cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.Add(secondsOfMicros(s.Main.CycleMaxMicros)) }),
		statFamily("slurm_scheduler_depth_total", exposition.Counter,
			"Jobs that the main scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddNumber(s.Main.Depth, 1) }),
		statFamily("slurm_scheduler_queue_length", exposition.Gauge,
			"Jobs in the main scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Main.QueueLength) }),
		{Name: "slurm_scheduler_exits_total", Kind: exposition.Counter,
			Help:   "Cycles of the main scheduler by the reason for which they ended.",
			Labels: []string{"reason"},
			Values: readStats(func(s *slurm.Stats, out *exposition.Samples) { putExits(out, s.Main.Exit) })},
	}
}

func backfillFamilies() []exposition.Family {
	return []exposition.Family{
		statFamily("slurm_backfill_active", exposition.Gauge, "1 while the backfill scheduler is in a cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddFlag(s.Backfill.Active) }),
		statFamily("slurm_backfill_jobs_total", exposition.Counter, "Jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.BackfilledJobs) }),
		statFamily("slurm_backfill_het_jobs_total", exposition.Counter,
			"Components of heterogeneous jobs started by backfill since slurmctld started.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.BackfilledHetJobs) }),
		statFamily("slurm_backfill_cycles_total", exposition.Counter, "Cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.Cycles) }),
		statFamily("slurm_backfill_cycle_seconds_total", exposition.Counter,
			"Total time of all cycles of the backfill scheduler.",
			func(s *slurm.Stats, out *exposition.Samples) { out.Add(secondsOfMicros(s.Backfill.CycleSumMicros)) }),
		statFamily("slurm_backfill_last_cycle_seconds", exposition.Gauge,
			"Duration of the backfill scheduler's last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.Add(secondsOfMicros(s.Backfill.CycleLastMicros)) }),
		statFamily("slurm_backfill_longest_cycle_seconds", exposition.Gauge,
			"Duration of the backfill scheduler's longest cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddNumber(s.Backfill.CycleMaxMicros, micro) }),
		statFamily("slurm_backfill_last_cycle_time_seconds", exposition.Gauge,
			"When the backfill scheduler's last cycle began, in Unix time.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddTime(s.Backfill.LastCycleAt) }),
		statFamily("slurm_backfill_depth_total", exposition.Counter,
			"Jobs that the backfill scheduler considered, in all cycles.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.DepthSum) }),
		statFamily("slurm_backfill_tried_depth_total", exposition.Counter,
			"Jobs that the backfill scheduler tried to start, in all cycles.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.DepthTrySum) }),
		statFamily("slurm_backfill_last_depth", exposition.Gauge,
			"Jobs that the backfill scheduler considered in its last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.LastDepth) }),
		statFamily("slurm_backfill_last_tried_depth", exposition.Gauge,
			"Jobs that the backfill scheduler tried to start in its last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.LastDepthTry) }),
		statFamily("slurm_backfill_queue_length", exposition.Gauge,
			"Jobs in the backfill scheduler's queue in its last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.QueueLength) }),
		statFamily("slurm_backfill_table_size", exposition.Gauge,
			"Time slots in the backfill scheduler's table in its last cycle.",
			func(s *slurm.Stats, out *exposition.Samples) { out.AddCount(s.Backfill.TableSize) }),
		{Name: "slurm_backfill_exits_total", Kind: exposition.Counter,
			Help: "Cycles of the backfill scheduler by the reason for which they ended.", Labels: []string{"reason"},
			Values: readStats(func(s *slurm.Stats, out *exposition.Samples) { putExits(out, s.Backfill.Exit) })},
	}
}

func putExits(out *exposition.Samples, exits map[string]uint64) {
	for _, reason := range slices.Sorted(maps.Keys(exits)) {
		out.AddCount(exits[reason], reason)
	}
}

func rpcCollector() exposition.Collector {
	byType := func(name string, k exposition.Kind, help string,
		put func(r slurm.RPC, out *exposition.Samples)) exposition.Family {
		return exposition.Family{Name: name, Kind: k, Help: help, Labels: []string{"type"},
			Values: readStats(func(s *slurm.Stats, out *exposition.Samples) {
				for _, r := range s.RPCsByType {
					put(r, out)
				}
			})}
	}
	return exposition.Collector{
		Name: "rpc", Set: exposition.Native, Help: "remote procedure calls to slurmctld by type, as in sdiag",
		Needs: []slurmclient.Resource{slurmclient.Stats},
		Families: []exposition.Family{
			byType("slurm_rpc_requests_total", exposition.Counter,
				"Remote procedure calls to slurmctld since it reset its statistics.",
				func(r slurm.RPC, out *exposition.Samples) { out.AddCount(r.Count, r.Name) }),
			byType("slurm_rpc_seconds_total", exposition.Counter, "Total time of remote procedure calls to slurmctld.",
				func(r slurm.RPC, out *exposition.Samples) { out.Add(secondsOfMicros(r.TotalMicros), r.Name) }),
			byType("slurm_rpc_queued", exposition.Gauge,
				"Remote procedure calls in the queue of slurmctld's RPC manager.",
				func(r slurm.RPC, out *exposition.Samples) { out.AddNumber(r.Queued, 1, r.Name) }),
			byType("slurm_rpc_dropped_total", exposition.Counter,
				"Remote procedure calls that slurmctld's RPC manager dropped.",
				func(r slurm.RPC, out *exposition.Samples) { out.AddNumber(r.Dropped, 1, r.Name) }),
			{Name: "slurm_rpc_pending", Kind: exposition.Gauge,
				Help: "Messages that slurmctld has yet to send, by type.", Labels: []string{"type"},
				Values: readStats(func(s *slurm.Stats, out *exposition.Samples) {
					for _, r := range s.PendingRPCs {
						out.AddCount(r.Count, r.Name)
					}
				})},
		},
	}
}

// rpcUsersCollector is opt-in, because it reveals the users of Slurm.
func rpcUsersCollector() exposition.Collector {
	byUser := func(name, help string, put func(r slurm.RPC, out *exposition.Samples)) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Counter, Help: help, Labels: []string{"user"},
			Values: func(v *tally.View, out *exposition.Samples) {
				readStats(func(s *slurm.Stats, out *exposition.Samples) {
					for _, r := range busiestUsers(s.RPCsByUser, v.Limits.Users) {
						put(r, out)
					}
				})(v, out)
			}}
	}
	return exposition.Collector{
		Name: "rpc_users", Set: exposition.Native, OptIn: true,
		Help:  "remote procedure calls to slurmctld by user, as in sdiag",
		Needs: []slurmclient.Resource{slurmclient.Stats},
		Families: []exposition.Family{
			byUser("slurm_rpc_user_requests_total", "Remote procedure calls of the user to slurmctld since it reset its statistics.",
				func(r slurm.RPC, out *exposition.Samples) { out.AddCount(r.Count, r.Name) }),
			byUser("slurm_rpc_user_seconds_total", "Total time of the user's remote procedure calls to slurmctld.",
				func(r slurm.RPC, out *exposition.Samples) { out.Add(secondsOfMicros(r.TotalMicros), r.Name) }),
		},
	}
}

// busiestUsers returns the users with the most calls, sorted by name; limit 0 returns all. It does not sum the remaining users, because the
// sum would fall, and a counter must not.
func busiestUsers(all []slurm.RPC, limit int) []slurm.RPC {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b slurm.RPC) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	slices.SortFunc(out, func(a, b slurm.RPC) int { return strings.Compare(a.Name, b.Name) })
	return out
}
