package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func jobsCollector() collector {
	return collector{
		name: "jobs", set: Native,
		help:  "jobs by state, the resources that they have or request, waiting times and how jobs end",
		needs: []slurmclient.Resource{slurmclient.Jobs}, hasJobHistory: true,
		families: []family{
			{"slurm_jobs", gauge, "Jobs by state: every array task and every heterogeneous component counts; jobs " +
				"that another cluster of a federation runs (REVOKED) do not.", []string{"state"},
				readAllJobs(func(t *jobTally, out *samples) { putJobStates(out, t) })},
			{"slurm_jobs_flagged", gauge,
				"Jobs by flag, such as completing or configuring; a job may have several flags.", []string{"flag"},
				readAllJobs(func(t *jobTally, out *samples) {
					for i, f := range slurm.JobFlagNames() {
						out.addCount(t.byFlag[i], labelSpelling(f))
					}
				})},
			{"slurm_jobs_held", gauge, "Pending jobs that a user or an administrator holds.", nil,
				readAllJobs(func(t *jobTally, out *samples) { out.addCount(t.held) })},
			{"slurm_jobs_pending_by_reason", gauge, "Pending jobs by Slurm's reason.", []string{"reason"},
				func(v *snapshotView, out *samples) {
					if v.jobs == nil {
						return
					}
					for _, r := range sortedKeys(v.jobs.byReason) {
						out.addCount(v.jobs.byReason[r], r)
					}
				}},
			{"slurm_job_records", gauge,
				"Records in slurmctld's job table; array tasks that have not been split off share one record.", nil,
				func(v *snapshotView, out *samples) {
					if v.jobs != nil {
						out.addCount(uint64(v.jobs.records))
					}
				}},
			{"slurm_jobs_nodes", gauge,
				"Nodes that jobs have (running, suspended) or request at least (pending), summed over jobs.",
				[]string{"state"},
				readAllJobs(func(t *jobTally, out *samples) {
					putAmounts(t, out, func(a amounts) uint64 { return a.nodes }, 1)
				})},
			{"slurm_jobs_cpus", gauge, "CPUs that jobs have or request.", []string{"state"},
				readAllJobs(func(t *jobTally, out *samples) {
					putAmounts(t, out, func(a amounts) uint64 { return a.cpus }, 1)
				})},
			{"slurm_jobs_gpus", gauge, "GPUs that jobs have or request.", []string{"state"},
				readAllJobs(func(t *jobTally, out *samples) {
					putAmounts(t, out, func(a amounts) uint64 { return a.gpus }, 1)
				})},
			{"slurm_jobs_memory_bytes", gauge, "Memory that jobs have or request.", []string{"state"},
				readAllJobs(func(t *jobTally, out *samples) {
					putAmounts(t, out, func(a amounts) uint64 { return a.memoryMiB }, mebibyte)
				})},
		},
	}
}

func readAllJobs(put func(t *jobTally, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		if v.jobs != nil {
			put(&v.jobs.all, out)
		}
	}
}

// putAmounts adds a sample of one amount for each of pending, running and suspended.
func putAmounts(t *jobTally, out *samples, of func(amounts) uint64, unit float64, labels ...string) {
	out.add(float64(of(t.pending))*unit, append(labels, "pending")...)
	out.add(float64(of(t.running))*unit, append(labels, "running")...)
	out.add(float64(of(t.suspended))*unit, append(labels, "suspended")...)
}
