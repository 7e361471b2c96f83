package collector

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func jobsCollector() exposition.Collector {
	return exposition.Collector{
		Name: "jobs", Set: exposition.Native,
		Help:  "jobs by state, the resources that they have or request, waiting times and how jobs end",
		Needs: []slurmclient.Resource{slurmclient.Jobs}, NewHistory: func() exposition.History { return histories{NewJobHistory(), newPendingAges()} }, CountsTime: true,
		Families: []exposition.Family{
			{Name: "slurm_jobs", Kind: exposition.Gauge,
				Help: "Jobs by state: every array task and every heterogeneous component counts; jobs " +
					"that another cluster of a federation runs (REVOKED) do not.", Labels: []string{"state"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) { putJobStates(out, t) })},
			{Name: "slurm_jobs_flagged", Kind: exposition.Gauge,
				Help:   "Jobs by flag, such as completing or configuring; a job may have several flags.",
				Labels: []string{"flag"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) {
					for i, f := range slurm.JobFlagNames() {
						out.AddCount(t.ByFlag[i], exposition.LabelSpelling(f))
					}
				})},
			{Name: "slurm_jobs_held", Kind: exposition.Gauge,
				Help: "Pending jobs that a user or an administrator holds.", Labels: nil,
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) { out.AddCount(t.Held) })},
			{Name: "slurm_jobs_pending_by_reason", Kind: exposition.Gauge, Help: "Pending jobs by Slurm's reason.",
				Labels: []string{"reason"},
				Values: func(v *tally.View, out *exposition.Samples) {
					if v.JobTotals == nil {
						return
					}
					for _, r := range slices.Sorted(maps.Keys(v.JobTotals.ByReason)) {
						out.AddCount(v.JobTotals.ByReason[r], r)
					}
				}},
			{Name: "slurm_job_records", Kind: exposition.Gauge,
				Help:   "Records in slurmctld's job table; array tasks that have not been split off share one record.",
				Labels: nil,
				Values: func(v *tally.View, out *exposition.Samples) {
					if v.JobTotals != nil {
						out.AddCount(uint64(v.JobTotals.Records))
					}
				}},
			{Name: "slurm_jobs_nodes", Kind: exposition.Gauge,
				Help:   "Nodes that jobs have (running, suspended) or request at least (pending), summed over jobs.",
				Labels: []string{"state"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) {
					putAmounts(t, out, func(a tally.Amounts) uint64 { return a.Nodes }, 1)
				})},
			{Name: "slurm_jobs_cpus", Kind: exposition.Gauge, Help: "CPUs that jobs have or request.",
				Labels: []string{"state"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) {
					putAmounts(t, out, func(a tally.Amounts) uint64 { return a.CPUs }, 1)
				})},
			{Name: "slurm_jobs_gpus", Kind: exposition.Gauge, Help: "GPUs that jobs have or request.",
				Labels: []string{"state"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) {
					putGPUs(t, out)
				})},
			{Name: "slurm_pending_gpus", Kind: exposition.Gauge,
				Help:   "GPUs that pending jobs request, by type; the type is empty for those that accept any.",
				Labels: []string{"type"},
				Values: func(v *tally.View, out *exposition.Samples) {
					if v.JobTotals == nil || v.JobTotals.All.Pending.HasUnknownGPUs {
						return
					}
					for _, kind := range slices.Sorted(maps.Keys(v.JobTotals.PendingGPUs)) {
						out.AddCount(v.JobTotals.PendingGPUs[kind], kind)
					}
				}},
			{Name: "slurm_jobs_memory_bytes", Kind: exposition.Gauge, Help: "Memory that jobs have or request.",
				Labels: []string{"state"},
				Values: readAllJobs(func(t *tally.Jobs, out *exposition.Samples) {
					putAmounts(t, out, func(a tally.Amounts) uint64 { return a.MemoryMiB }, mebibyte)
				})},
		},
	}
}

func readAllJobs(put func(t *tally.Jobs, out *exposition.Samples)) func(*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		if v.JobTotals != nil {
			put(&v.JobTotals.All, out)
		}
	}
}

// putGPUs adds a sample of the GPUs for each of pending, running and suspended. It omits a state if the GPUs of one of its jobs are
// unknown.
func putGPUs(t *tally.Jobs, out *exposition.Samples, labels ...string) {
	for _, of := range []struct {
		tally.Amounts
		state string
	}{{t.Pending, "pending"}, {t.Running, "running"}, {t.Suspended, "suspended"}} {
		if !of.HasUnknownGPUs {
			out.AddCount(of.GPUs, append(labels, of.state)...)
		}
	}
}

// putAmounts adds a sample of one amount for each of pending, running and suspended.
func putAmounts(t *tally.Jobs, out *exposition.Samples, of func(tally.Amounts) uint64, unit float64, labels ...string) {
	out.Add(float64(of(t.Pending))*unit, append(labels, "pending")...)
	out.Add(float64(of(t.Running))*unit, append(labels, "running")...)
	out.Add(float64(of(t.Suspended))*unit, append(labels, "suspended")...)
}
