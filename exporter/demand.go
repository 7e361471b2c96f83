package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

func demandCollector() collector {
	gaugeOf := func(name, help string, value func(p *demand.Partition) uint64) family {
		return family{name, gauge, help, []string{"partition"},
			readPartitionDemand(func(p *demand.Partition, out *samples) { out.addCount(value(p), p.Name) })}
	}
	return collector{
		name: "demand", set: Native, help: "why jobs wait and how many nodes they need", timeDependent: true,
		needs: demand.Resources(),
		note: "A standalone slurm-exporter does not know NodeSets. It assumes that new nodes have the shapes of " +
			"the partition's " +
			"existing nodes, and applies no NodeSet's maximum.\n" +
			"Its `slurm_partition_pending_nodes` and `slurm_partition_required_nodes` may therefore differ from the " +
			"values that " +
			"slurm-metrics-adapter shows and returns to HPAs.",
		families: []family{
			{"slurm_partition_pending_jobs_by_reason", gauge,
				"Pending jobs of the partition by Slurm's reason and by the class of the reason; more nodes help only " +
					"jobs of the class capacity.",
				[]string{"partition", "reason", "class"}, readPartitionDemand(func(p *demand.Partition, out *samples) {
					for _, r := range p.PendingByReason {
						out.addCount(r.Jobs, p.Name, r.Reason, string(r.Class))
					}
				})},
			{"slurm_partition_pending_jobs_by_class", gauge,
				"Pending jobs of the partition by the class of Slurm's reason.",
				[]string{"partition", "class"}, readPartitionDemand(putPendingByClass)},
			gaugeOf("slurm_partition_required_nodes",
				"Nodes that the partition needs now: busy nodes, and nodes that eligible pending jobs need in addition "+
					"to free ones.", func(p *demand.Partition) uint64 { return p.RequiredNodes }),
			gaugeOf("slurm_partition_pending_nodes",
				"Nodes that eligible pending jobs need in addition to idle and booting nodes; a job in several "+
					"partitions counts in one.", func(p *demand.Partition) uint64 { return p.PendingNodes }),
			gaugeOf("slurm_partition_busy_nodes", "Nodes with work or in an active reservation.",
				func(p *demand.Partition) uint64 { return p.BusyNodes }),
			gaugeOf("slurm_partition_booting_nodes",
				"Nodes that can start a job soon: powering up, rebooting, or not responding yet.",
				func(p *demand.Partition) uint64 { return p.BootingNodes }),
			gaugeOf("slurm_partition_unusable_nodes", "Nodes that are down, drained or failed and have no work.",
				func(p *demand.Partition) uint64 { return p.UnusableNodes }),
			gaugeOf("slurm_partition_off_nodes", "Nodes that are powered down or FUTURE records.",
				func(p *demand.Partition) uint64 { return p.OffNodes }),
			gaugeOf("slurm_partition_pending_jobs_inexact",
				"1 if slurmctld truncated the task list of an array, so that counts of pending jobs are lower bounds.",
				func(p *demand.Partition) uint64 {
					if p.Inexact {
						return 1
					}
					return 0
				}),
			{"slurm_partition_unsatisfiable_jobs", gauge,
				"Pending jobs that no node of the partition can ever run, by reason.",
				[]string{"partition", "reason"}, readPartitionDemand(func(p *demand.Partition, out *samples) {
					for _, u := range p.Unsatisfiable {
						out.addCount(u.Jobs, p.Name, u.Reason)
					}
				})},
			{"slurm_partition_oldest_pending_submit_time_seconds", gauge,
				"Submit time of the job that has been pending longest, in Unix time; no sample if no job is pending.",
				[]string{"partition"},
				readPartitionDemand(func(p *demand.Partition, out *samples) { out.addTime(p.OldestPending, p.Name) })},
			{"slurm_partition_oldest_eligible_time_seconds", gauge,
				"Eligible time of the eligible job that has waited longest, in Unix time; no sample if there is none.",
				[]string{"partition"},
				readPartitionDemand(func(p *demand.Partition, out *samples) { out.addTime(p.OldestEligible, p.Name) })},
		},
	}
}

func putPendingByClass(p *demand.Partition, out *samples) {
	sum := map[demand.Class]uint64{}
	for _, r := range p.PendingByReason {
		sum[r.Class] += r.Jobs
	}
	for _, c := range demand.Classes() {
		out.addCount(sum[c], p.Name, string(c))
	}
}
