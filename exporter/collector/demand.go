package collector

import (
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

func demandCollector() exposition.Collector {
	gaugeOf := func(name, help string, value func(p *demand.Partition) uint64) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"partition"},
			Values: readPartitionDemand(func(p *demand.Partition,
				out *exposition.Samples) {
				out.AddCount(value(p), p.Name)
			})}
	}
	return exposition.Collector{
		Name: "demand", Set: exposition.Native,
		Help: "why jobs wait and how many nodes they need", TimeDependent: true,
		Needs: demand.Resources(),
		Note: "A standalone slurm-exporter does not know NodeSets. It assumes that new nodes have the shapes of " +
			"the partition's " +
			"existing nodes, and applies no NodeSet's maximum.\n" +
			"Its `slurm_partition_pending_nodes` and `slurm_partition_required_nodes` may therefore differ from the " +
			"values that " +
			"slurm-metrics-adapter shows and returns to HPAs.",
		Families: []exposition.Family{
			{Name: "slurm_partition_pending_jobs_by_reason", Kind: exposition.Gauge,
				Help: "Pending jobs of the partition by Slurm's reason and by the class of the reason; more nodes help only " +
					"jobs of the class capacity.",
				Labels: []string{"partition", "reason", "class"},
				Values: readPartitionDemand(func(p *demand.Partition, out *exposition.Samples) {
					for _, r := range p.PendingByReason {
						out.AddCount(r.Jobs, p.Name, r.Reason, string(r.Class))
					}
				})},
			{Name: "slurm_partition_pending_jobs_by_class", Kind: exposition.Gauge,
				Help:   "Pending jobs of the partition by the class of Slurm's reason.",
				Labels: []string{"partition", "class"}, Values: readPartitionDemand(putPendingByClass)},
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
			{Name: "slurm_partition_unsatisfiable_jobs", Kind: exposition.Gauge,
				Help:   "Pending jobs that no node of the partition can ever run, by reason.",
				Labels: []string{"partition", "reason"},
				Values: readPartitionDemand(func(p *demand.Partition, out *exposition.Samples) {
					for _, u := range p.Unsatisfiable {
						out.AddCount(u.Jobs, p.Name, u.Reason)
					}
				})},
			{Name: "slurm_partition_oldest_pending_submit_time_seconds", Kind: exposition.Gauge,
				Help:   "Submit time of the job that has been pending longest, in Unix time; no sample if no job is pending.",
				Labels: []string{"partition"},
				Values: readPartitionDemand(func(p *demand.Partition,
					out *exposition.Samples) {
					out.AddTime(p.OldestPending, p.Name)
				})},
			{Name: "slurm_partition_oldest_eligible_time_seconds", Kind: exposition.Gauge,
				Help:   "Eligible time of the eligible job that has waited longest, in Unix time; no sample if there is none.",
				Labels: []string{"partition"},
				Values: readPartitionDemand(func(p *demand.Partition,
					out *exposition.Samples) {
					out.AddTime(p.OldestEligible, p.Name)
				})},
		},
	}
}

func putPendingByClass(p *demand.Partition, out *exposition.Samples) {
	sum := map[pending.Class]uint64{}
	for _, r := range p.PendingByReason {
		sum[r.Class] += r.Jobs
	}
	for _, c := range pending.Classes() {
		out.AddCount(sum[c], p.Name, string(c))
	}
}
