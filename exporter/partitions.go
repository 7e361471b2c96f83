package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func partitionsCollector() collector {
	return collector{
		name: "partitions", set: Native, help: "nodes, jobs, resources and limits of partitions", timeDependent: true,
		needs: []slurmclient.Resource{slurmclient.Partitions, slurmclient.Nodes, slurmclient.Jobs},
		families: append([]family{
			{"slurm_partition_pending_jobs", gauge,
				"Pending jobs of the partition, whatever their reason; every array task counts, and a job in several " +
					"partitions counts in each.",
				[]string{"partition"}, readPartitionDemand(func(p *demand.Partition, out *samples) { out.addCount(p.PendingJobs, p.Name) })},
			{"slurm_partition_eligible_pending_jobs", gauge,
				"Pending jobs that more nodes would help: neither held nor waiting for a time, another job, a licence or " +
					"a limit.",
				[]string{"partition"},
				readPartitionDemand(func(p *demand.Partition, out *samples) { out.addCount(p.EligiblePendingJobs, p.Name) })},
			{"slurm_partition_idle_nodes", gauge, "Nodes of the partition that have no job and can start one now.",
				[]string{"partition"}, readPartitionDemand(func(p *demand.Partition, out *samples) { out.addCount(p.IdleNodes, p.Name) })},
			{"slurm_partition_jobs", gauge,
				"Jobs of the partition by state; every array task counts, and a pending job in several partitions counts " +
					"in each.",
				[]string{"partition", "state"}, putPartitionJobs},
			{"slurm_partition_nodes", gauge,
				"Nodes of the partition by state as sinfo shows it; a node is in exactly one state.",
				[]string{"partition", "state"},
				readPartitionNodes(func(t *nodeTally, out *samples, name string) { putWords(t, out, name) })},
			{"slurm_partition_cpus", gauge,
				"CPUs of the partition that jobs may use, by state: allocated (also to jobs of other partitions), idle, " +
					"or other (idle on a node that is down or drained).",
				[]string{"partition", "state"},
				readPartitionNodes(func(t *nodeTally, out *samples, name string) { putUsage(out, t.cpus, 1, name) })},
			{"slurm_partition_memory_bytes", gauge,
				"Memory of the partition's nodes by state: allocated, idle or other.",
				[]string{"partition", "state"},
				readPartitionNodes(func(t *nodeTally, out *samples, name string) {
					putUsage(out, t.memoryMiB, mebibyte, name)
				})},
			{"slurm_partition_gpus", gauge, "GPUs of the partition's nodes by state: allocated, idle or other.",
				[]string{"partition", "state"},
				readPartitionNodes(func(t *nodeTally, out *samples, name string) { putUsage(out, t.allGPUs, 1, name) })},
		}, partitionSettingFamilies()...),
	}
}

// readPartitionDemand calls put with the demand of each partition.
func readPartitionDemand(put func(p *demand.Partition, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		for i := range v.demand.Partitions {
			put(&v.demand.Partitions[i], out)
		}
	}
}

func putPartitionJobs(v *snapshotView, out *samples) {
	if v.jobs == nil {
		return
	}
	for _, p := range v.Partitions.Value {
		t := v.jobs.byPartition[p.Name]
		if t == nil {
			t = &jobTally{}
		}
		putJobStates(out, t, p.Name)
	}
}

// putJobStates adds a sample for every base state of jobs.
func putJobStates(out *samples, t *jobTally, labels ...string) {
	for _, b := range slurm.JobBases() {
		out.addCount(t.inState(b), append(labels, labelSpelling(b.String()))...)
	}
}

func readPartitionNodes(put func(t *nodeTally, out *samples, name string)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		if v.nodes == nil {
			return
		}
		for _, p := range v.Partitions.Value {
			t := v.nodes.byPartition[p.Name]
			if t == nil {
				t = &nodeTally{}
			}
			put(t, out, p.Name)
		}
	}
}

func partitionSettingFamilies() []family {
	states := []slurm.PartitionState{slurm.PartitionUp, slurm.PartitionDown, slurm.PartitionDrain,
		slurm.PartitionInactive, slurm.PartitionUnknown}
	setting := func(name, help string, put func(p *slurm.Partition, out *samples)) family {
		return family{name, gauge, help, []string{"partition"}, readPartitions(put)}
	}
	return []family{
		{"slurm_partition_state", gauge, "1 for the state that the partition is in, 0 for the others.",
			[]string{"partition", "state"}, readPartitions(func(p *slurm.Partition, out *samples) {
				for _, s := range states {
					out.addFlag(p.State == s, p.Name, labelSpelling(string(s)))
				}
			})},
		setting("slurm_partition_max_time_seconds", "Time limit of jobs in the partition, +Inf for no limit.",
			func(p *slurm.Partition, out *samples) { out.addNumber(p.MaxTime, minute, p.Name) }),
		setting("slurm_partition_default_time_seconds", "Time limit of jobs that specify none, +Inf for no limit.",
			func(p *slurm.Partition, out *samples) { out.addNumber(p.DefaultTime, minute, p.Name) }),
		setting("slurm_partition_max_nodes", "Limit on the nodes of one job in the partition, +Inf for no limit.",
			func(p *slurm.Partition, out *samples) { out.addNumber(p.MaxNodes, 1, p.Name) }),
		setting("slurm_partition_priority_tier",
			"Priority tier of the partition; jobs of higher tiers are scheduled first.",
			func(p *slurm.Partition, out *samples) { out.addCount(uint64(p.PriorityTier), p.Name) }),
	}
}

func readPartitions(put func(p *slurm.Partition, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		for _, p := range v.Partitions.Value {
			put(p, out)
		}
	}
}
