package collector

import (
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func partitionsCollector() exposition.Collector {
	return exposition.Collector{
		Name: "partitions", Set: exposition.Native,
		Help: "nodes, jobs, resources and limits of partitions", TimeDependent: true,
		Needs: []slurmclient.Resource{slurmclient.Partitions, slurmclient.Nodes, slurmclient.Jobs},
		Families: append([]exposition.Family{
			{Name: "slurm_partition_pending_jobs", Kind: exposition.Gauge,
				Help: "Pending jobs of the partition, whatever their reason; every array task counts, and a job in several " +
					"partitions counts in each.",
				Labels: []string{"partition"},
				Values: readPartitionDemand(func(p *demand.Partition,
					out *exposition.Samples) {
					out.AddCount(p.PendingJobs, p.Name)
				})},
			{Name: "slurm_partition_eligible_pending_jobs", Kind: exposition.Gauge,
				Help: "Pending jobs that more nodes would help: neither held nor waiting for a time, another job, a licence or " +
					"a limit.",
				Labels: []string{"partition"},
				Values: readPartitionDemand(func(p *demand.Partition,
					out *exposition.Samples) {
					out.AddCount(p.EligiblePendingJobs, p.Name)
				})},
			{Name: "slurm_partition_idle_nodes", Kind: exposition.Gauge,
				Help:   "Nodes of the partition that have no job and can start one now.",
				Labels: []string{"partition"},
				Values: readPartitionDemand(func(p *demand.Partition,
					out *exposition.Samples) {
					out.AddCount(p.IdleNodes, p.Name)
				})},
			{Name: "slurm_partition_jobs", Kind: exposition.Gauge,
				Help: "Jobs of the partition by state; every array task counts, and a pending job in several partitions counts " +
					"in each.",
				Labels: []string{"partition", "state"}, Values: putPartitionJobs},
			{Name: "slurm_partition_nodes", Kind: exposition.Gauge,
				Help:   "Nodes of the partition by state as sinfo shows it; a node is in exactly one state.",
				Labels: []string{"partition", "state"},
				Values: readPartitionNodes(func(t *tally.Nodes, out *exposition.Samples,
					name string) {
					putWords(t, out, name)
				})},
			{Name: "slurm_partition_cpus", Kind: exposition.Gauge,
				Help: "CPUs of the partition that jobs may use, by state: allocated (also to jobs of other partitions), idle, " +
					"or other (idle on a node that is down or drained).",
				Labels: []string{"partition", "state"},
				Values: readPartitionNodes(func(t *tally.Nodes, out *exposition.Samples,
					name string) {
					putUsage(out, t.CPUs, 1, name)
				})},
			{Name: "slurm_partition_memory_bytes", Kind: exposition.Gauge,
				Help:   "Memory of the partition's nodes by state: allocated, idle or other.",
				Labels: []string{"partition", "state"},
				Values: readPartitionNodes(func(t *tally.Nodes, out *exposition.Samples, name string) {
					putUsage(out, t.MemoryMiB, mebibyte, name)
				})},
			{Name: "slurm_partition_gpus", Kind: exposition.Gauge,
				Help:   "GPUs of the partition's nodes by state: allocated, idle or other.",
				Labels: []string{"partition", "state"},
				Values: readPartitionNodes(func(t *tally.Nodes, out *exposition.Samples,
					name string) {
					putUsage(out, t.AllGPUs, 1, name)
				})},
		}, partitionSettingFamilies()...),
	}
}

// readPartitionDemand calls put with the demand of each partition.
func readPartitionDemand(put func(p *demand.Partition, out *exposition.Samples)) func(
	*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		for i := range v.Demand.Partitions {
			put(&v.Demand.Partitions[i], out)
		}
	}
}

func putPartitionJobs(v *tally.View, out *exposition.Samples) {
	if v.JobTotals == nil {
		return
	}
	for _, p := range v.Partitions.Value {
		t := v.JobTotals.ByPartition[p.Name]
		if t == nil {
			t = &tally.Jobs{}
		}
		putJobStates(out, t, p.Name)
	}
}

// putJobStates adds a sample for every base state of jobs.
func putJobStates(out *exposition.Samples, t *tally.Jobs, labels ...string) {
	for _, b := range slurm.JobBases() {
		out.AddCount(t.InState(b), append(labels, exposition.LabelSpelling(b.String()))...)
	}
}

func readPartitionNodes(put func(t *tally.Nodes, out *exposition.Samples, name string)) func(
	*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		if v.NodeTotals == nil {
			return
		}
		for _, p := range v.Partitions.Value {
			t := v.NodeTotals.ByPartition[p.Name]
			if t == nil {
				t = &tally.Nodes{}
			}
			put(t, out, p.Name)
		}
	}
}

func partitionSettingFamilies() []exposition.Family {
	states := []slurm.PartitionState{slurm.PartitionUp, slurm.PartitionDown, slurm.PartitionDrain,
		slurm.PartitionInactive, slurm.PartitionUnknown}
	setting := func(name, help string, put func(p *slurm.Partition, out *exposition.Samples)) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"partition"},
			Values: readPartitions(put)}
	}
	return []exposition.Family{
		{Name: "slurm_partition_state", Kind: exposition.Gauge,
			Help:   "1 for the state that the partition is in, 0 for the others.",
			Labels: []string{"partition", "state"},
			Values: readPartitions(func(p *slurm.Partition, out *exposition.Samples) {
				for _, s := range states {
					out.AddFlag(p.State == s, p.Name, exposition.LabelSpelling(string(s)))
				}
			})},
		setting("slurm_partition_max_time_seconds", "Time limit of jobs in the partition, +Inf for no limit.",
			func(p *slurm.Partition, out *exposition.Samples) { out.AddNumber(p.MaxTime, minute, p.Name) }),
		setting("slurm_partition_default_time_seconds", "Time limit of jobs that specify none, +Inf for no limit.",
			func(p *slurm.Partition, out *exposition.Samples) { out.AddNumber(p.DefaultTime, minute, p.Name) }),
		setting("slurm_partition_max_nodes", "Limit on the nodes of one job in the partition, +Inf for no limit.",
			func(p *slurm.Partition, out *exposition.Samples) { out.AddNumber(p.MaxNodes, 1, p.Name) }),
		setting("slurm_partition_priority_tier",
			"Priority tier of the partition; jobs of higher tiers are scheduled first.",
			func(p *slurm.Partition, out *exposition.Samples) { out.AddCount(uint64(p.PriorityTier), p.Name) }),
	}
}

func readPartitions(put func(p *slurm.Partition, out *exposition.Samples)) func(*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		for _, p := range v.Partitions.Value {
			put(p, out)
		}
	}
}
