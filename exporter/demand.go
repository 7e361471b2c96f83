package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

func demandCollector() collector {
	gaugeOf := func(name, help string, value func(p *demand.Partition) uint64) family {
		return family{name, gauge, help, []string{"partition"}, demands(func(p *demand.Partition, out *samples) { out.n(value(p), p.Name) })}
	}
	return collector{
		name: "demand", set: Native, help: "why jobs wait, and the nodes that they need", clocked: true,
		needs: demand.Resources(),
		note: "A slurm-exporter that runs by itself knows no NodeSets: nodes that jobs need are of the shapes that the partition's nodes have, and no NodeSet's maximum counts.\n" +
			"So its `slurm_partition_pending_nodes` and `slurm_partition_required_nodes` may differ from those that slurm-metrics-adapter shows and answers HPAs with.",
		families: []family{
			{"slurm_partition_pending_jobs_by_reason", gauge, "Pending jobs of the partition by Slurm's reason and by the class of what they wait for; only jobs of the class capacity would be helped by more nodes.",
				[]string{"partition", "reason", "class"}, demands(func(p *demand.Partition, out *samples) {
					for _, r := range p.PendingByReason {
						out.n(r.Jobs, p.Name, r.Reason, string(r.Class))
					}
				})},
			{"slurm_partition_pending_jobs_by_class", gauge, "Pending jobs of the partition by the class of what they wait for.",
				[]string{"partition", "class"}, demands(pendingByClass)},
			gaugeOf("slurm_partition_required_nodes", "Nodes that the partition needs now: the busy ones and those that eligible pending jobs need beyond the free ones.", func(p *demand.Partition) uint64 { return p.RequiredNodes }),
			gaugeOf("slurm_partition_pending_nodes", "Nodes that eligible pending jobs need beyond those that are idle or booting; a job in several partitions asks in one.", func(p *demand.Partition) uint64 { return p.PendingNodes }),
			gaugeOf("slurm_partition_busy_nodes", "Nodes with work, or in a reservation that is active.", func(p *demand.Partition) uint64 { return p.BusyNodes }),
			gaugeOf("slurm_partition_booting_nodes", "Nodes that can start a job soon: powering up, rebooting, or not responding yet.", func(p *demand.Partition) uint64 { return p.BootingNodes }),
			gaugeOf("slurm_partition_unusable_nodes", "Nodes that are down, drained or failed and have no work.", func(p *demand.Partition) uint64 { return p.UnusableNodes }),
			gaugeOf("slurm_partition_off_nodes", "Nodes that are powered down or FUTURE records.", func(p *demand.Partition) uint64 { return p.OffNodes }),
			gaugeOf("slurm_partition_pending_jobs_inexact", "1 when slurmctld cut the task list of an array, so that the counts of pending jobs are lower bounds.", func(p *demand.Partition) uint64 {
				if p.Inexact {
					return 1
				}
				return 0
			}),
			{"slurm_partition_unsatisfiable_jobs", gauge, "Pending jobs that no node of the partition could run, by why.",
				[]string{"partition", "reason"}, demands(func(p *demand.Partition, out *samples) {
					for _, u := range p.Unsatisfiable {
						out.n(u.Jobs, p.Name, u.Reason)
					}
				})},
			{"slurm_partition_oldest_pending_submit_time_seconds", gauge, "When the pending job that waits longest was submitted, in Unix time; no sample when none is pending.",
				[]string{"partition"}, demands(func(p *demand.Partition, out *samples) { out.time(p.OldestPending, p.Name) })},
			{"slurm_partition_oldest_eligible_time_seconds", gauge, "Since when the longest waiting eligible job could have run, in Unix time; no sample when there is none.",
				[]string{"partition"}, demands(func(p *demand.Partition, out *samples) { out.time(p.OldestEligible, p.Name) })},
		},
	}
}

func pendingByClass(p *demand.Partition, out *samples) {
	sum := map[demand.Class]uint64{}
	for _, r := range p.PendingByReason {
		sum[r.Class] += r.Jobs
	}
	for _, c := range demand.Classes() {
		out.n(sum[c], p.Name, string(c))
	}
}
