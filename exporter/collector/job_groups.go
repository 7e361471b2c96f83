package collector

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobGroupFamilies returns the families of jobs by user, account or QOS.
func jobGroupFamilies(label, owner string, of func(*tally.View) map[string]*tally.Jobs) []exposition.Family {
	group := func(what, help string, put func(t *tally.Jobs, out *exposition.Samples, name string)) exposition.Family {
		return exposition.Family{Name: "slurm_" + label + "_" + what, Kind: exposition.Gauge, Help: help,
			Labels: []string{label, "state"},
			Values: func(v *tally.View, out *exposition.Samples) {
				if v.JobTotals == nil {
					return
				}
				all := of(v)
				for _, name := range slices.Sorted(maps.Keys(all)) {
					put(all[name], out, name)
				}
			}}
	}
	amount := func(of func(tally.Amounts) uint64, unit float64) func(*tally.Jobs, *exposition.Samples, string) {
		return func(t *tally.Jobs, out *exposition.Samples, name string) { putAmounts(t, out, of, unit, name) }
	}
	return []exposition.Family{
		group("jobs", "Unfinished jobs of the "+owner+" by state.",
			func(t *tally.Jobs, out *exposition.Samples, name string) {
				for _, b := range []slurm.JobBase{slurm.JobPending, slurm.JobRunning, slurm.JobSuspended} {
					out.AddCount(t.InState(b), name, exposition.LabelSpelling(b.String()))
				}
			}),
		group("cpus", "CPUs that jobs of the "+owner+" have or request.",
			amount(func(a tally.Amounts) uint64 { return a.CPUs }, 1)),
		group("gpus", "GPUs that jobs of the "+owner+" have or request.",
			func(t *tally.Jobs, out *exposition.Samples, name string) { putGPUs(t, out, name) }),
		group("memory_bytes", "Memory that jobs of the "+owner+" have or request.",
			amount(func(a tally.Amounts) uint64 { return a.MemoryMiB }, mebibyte)),
	}
}

func usersCollector() exposition.Collector {
	return exposition.Collector{
		Name: "users", Set: exposition.Native, OptIn: true,
		Help:  "jobs by user and users in the fair-share tree (many series)",
		Needs: []slurmclient.Resource{slurmclient.Jobs, slurmclient.Shares},
		Families: append(jobGroupFamilies("user", "user",
			func(v *tally.View) map[string]*tally.Jobs { return tally.LimitJobs(v.JobTotals.ByUser, v.Limits.Users) }),
			shareFamilies("slurm_fairshare_user_", []string{"account", "user", "partition"},
				func(v *tally.View) []shareRow {
					var out []shareRow
					for _, s := range v.Shares.Value {
						if s.User {
							out = append(out, shareRow{[]string{s.Parent, s.Name, s.Partition}, s})
						}
					}
					if n := v.Limits.Users; n > 0 && len(out) > n {
						out = out[:n]
					}
					return out
				})...),
	}
}

func accountsCollector() exposition.Collector {
	return exposition.Collector{
		Name: "accounts", Set: exposition.Native, Help: "jobs by account",
		Needs: []slurmclient.Resource{slurmclient.Jobs},
		Families: jobGroupFamilies("account", "account",
			func(v *tally.View) map[string]*tally.Jobs {
				return tally.LimitJobs(v.JobTotals.ByAccount, v.Limits.Accounts)
			}),
	}
}

func qosCollector() exposition.Collector {
	limit := func(name, help string, of func(q slurm.QOS) slurm.Number, unit float64) exposition.Family {
		return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"qos"},
			Values: func(v *tally.View, out *exposition.Samples) {
				for _, q := range v.QOS.Value {
					out.AddNumber(of(q), unit, q.Name)
				}
			}}
	}
	return exposition.Collector{
		Name: "qos", Set: exposition.Native,
		Help:  "jobs by quality of service, and its limits if there is a slurmdbd",
		Needs: []slurmclient.Resource{slurmclient.Jobs, slurmclient.QOS},
		Families: append(jobGroupFamilies("qos", "QOS",
			func(v *tally.View) map[string]*tally.Jobs { return v.JobTotals.ByQOS }),
			limit("slurm_qos_priority", "Priority of the QOS.", func(q slurm.QOS) slurm.Number { return q.Priority },
				1),
			limit("slurm_qos_max_jobs", "Limit on running jobs of the QOS (GrpJobs), +Inf for no limit.",
				func(q slurm.QOS) slurm.Number { return q.MaxJobs }, 1),
			limit("slurm_qos_max_jobs_per_user", "Limit on running jobs of one user in the QOS, +Inf for no limit.",
				func(q slurm.QOS) slurm.Number { return q.MaxJobsPerUser }, 1),
			limit("slurm_qos_max_jobs_per_account",
				"Limit on running jobs of one account in the QOS, +Inf for no limit.",
				func(q slurm.QOS) slurm.Number { return q.MaxJobsPerAccount }, 1),
			limit("slurm_qos_max_submit_jobs_per_user",
				"Limit on pending and running jobs of one user in the QOS, +Inf for no limit.",
				func(q slurm.QOS) slurm.Number { return q.MaxSubmitPerUser }, 1),
			limit("slurm_qos_max_time_seconds", "Time limit of jobs in the QOS, +Inf for no limit.",
				func(q slurm.QOS) slurm.Number { return q.MaxWallMinutesPerJob }, minute),
			qosTRESFamily("slurm_qos_group_limit",
				"Limit on the resources of all jobs in the QOS (GrpTRES); memory is in MiB.",
				func(q slurm.QOS) map[string]uint64 { return q.GrpTRES }),
			qosTRESFamily("slurm_qos_user_limit",
				"Limit on the resources of all jobs of one user in the QOS (MaxTRESPerUser); memory is in MiB.",
				func(q slurm.QOS) map[string]uint64 { return q.MaxTRESPerUser }),
		),
	}
}

func qosTRESFamily(name, help string, of func(q slurm.QOS) map[string]uint64) exposition.Family {
	return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help, Labels: []string{"qos", "tres"},
		Values: func(v *tally.View, out *exposition.Samples) {
			for _, q := range v.QOS.Value {
				for _, tres := range slices.Sorted(maps.Keys(of(q))) {
					out.AddCount(of(q)[tres], q.Name, tres)
				}
			}
		}}
}
