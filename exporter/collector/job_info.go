package collector

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// maxJobSeries is the maximum number of pairs of a running job and one of its nodes that have series. A job counts once if its nodes are
// unknown.
const maxJobSeries = 10_000

// jobInfoCollector is opt-in: it has series for each running job.
func jobInfoCollector() exposition.Collector {
	perJob := func(name, help string, put func(j *slurm.Job, id string, out *exposition.Samples), labels ...string) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: append([]string{"job_id"}, labels...),
			Values: func(v *tally.View, out *exposition.Samples) {
				shown, _ := jobsWithSeries(v)
				for _, j := range shown {
					put(j, strconv.FormatUint(uint64(j.ID), 10), out)
				}
			}}
	}
	return exposition.Collector{
		Name: "job_info", Set: exposition.Native, OptIn: true,
		Help:  "running jobs, one by one, for joins (many series)",
		Needs: []slurmclient.Resource{slurmclient.Jobs},
		Note: "At most 10,000 pairs of a job and a node have series: those of the jobs with the most GPUs, then CPUs, first. " +
			"`slurm_jobs_without_info` counts the running jobs that have none.",
		Families: []exposition.Family{
			perJob("slurm_job_info", "1 for a running job.", func(j *slurm.Job, id string, out *exposition.Samples) {
				out.AddCount(1, id, j.Name, j.UserName(), j.Account(), j.QOS(), j.Partition)
			}, "job_name", "user", "account", "qos", "partition"),
			perJob("slurm_job_node_info", "1 for each node of a running job.", func(j *slurm.Job, id string, out *exposition.Samples) {
				names, err := hostlist.All(j.Nodes)
				if err != nil {
					return
				}
				for name := range names {
					out.AddCount(1, id, name)
				}
			}, "node"),
			perJob("slurm_job_cpus", "CPUs that a running job has.", func(j *slurm.Job, id string, out *exposition.Samples) {
				out.AddCount(tally.Allocated(j).CPUs, id)
			}),
			perJob("slurm_job_gpus", "GPUs that a running job has.", func(j *slurm.Job, id string, out *exposition.Samples) {
				if a := tally.Allocated(j); !a.HasUnknownGPUs {
					out.AddCount(a.GPUs, id)
				}
			}),
			perJob("slurm_job_start_time_seconds", "When a running job started, in Unix time.",
				func(j *slurm.Job, id string, out *exposition.Samples) {
					if j.StartTime.IsSet() {
						out.Add(float64(j.StartTime), id)
					}
				}),
			{Name: "slurm_jobs_without_info", Kind: exposition.Gauge, Help: "Running jobs beyond the maximum number of series.",
				Values: func(v *tally.View, out *exposition.Samples) {
					if v.JobTotals != nil {
						_, left := jobsWithSeries(v)
						out.AddCount(uint64(left))
					}
				}},
		},
	}
}

// jobsWithSeries returns the running jobs with series, by id, and how many jobs have no series.
func jobsWithSeries(v *tally.View) (shown []*slurm.Job, left int) {
	if v.JobTotals == nil {
		return nil, 0
	}
	return limitJobs(v.Jobs.Value, maxJobSeries)
}

// limitJobs returns running jobs that together have at most the given number of nodes, and the number of remaining jobs. Jobs with more
// GPUs come first, then jobs with more CPUs, then older ones.
func limitJobs(jobs []*slurm.Job, most int) (shown []*slurm.Job, left int) {
	series := 0
	for _, j := range jobs {
		if isRunning(j) {
			shown = append(shown, j)
			series += nodesOf(j)
		}
	}
	if series <= most {
		return shown, 0
	}
	size := make(map[uint32]tally.Amounts, len(shown))
	for _, j := range shown {
		size[j.ID] = tally.Allocated(j)
	}
	slices.SortFunc(shown, func(a, b *slurm.Job) int {
		return cmp.Or(cmp.Compare(size[b.ID].GPUs, size[a.ID].GPUs), cmp.Compare(size[b.ID].CPUs, size[a.ID].CPUs), cmp.Compare(a.ID, b.ID))
	})
	var fit []*slurm.Job
	for _, j := range shown {
		if n := nodesOf(j); n <= most {
			most -= n
			fit = append(fit, j)
		} else {
			left++
		}
	}
	slices.SortFunc(fit, func(a, b *slurm.Job) int { return cmp.Compare(a.ID, b.ID) })
	return fit, left
}

// nodesOf returns the number of a job's nodes, at least 1.
func nodesOf(j *slurm.Job) int { return int(max(1, min(j.NodeCount.Or(1), maxJobSeries+1))) }
