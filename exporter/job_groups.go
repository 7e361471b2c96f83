package exporter

import (
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobGroupFamilies returns the families of jobs by user, account or QOS.
func jobGroupFamilies(label, owner string, of func(*snapshotView) map[string]*jobTally) []family {
	group := func(what, help string, put func(t *jobTally, out *samples, name string)) family {
		return family{"slurm_" + label + "_" + what, gauge, help, []string{label, "state"},
			func(v *snapshotView, out *samples) {
				if v.jobs == nil {
					return
				}
				all := of(v)
				for _, name := range sortedKeys(all) {
					put(all[name], out, name)
				}
			}}
	}
	amount := func(of func(amounts) uint64, unit float64) func(*jobTally, *samples, string) {
		return func(t *jobTally, out *samples, name string) { putAmounts(t, out, of, unit, name) }
	}
	return []family{
		group("jobs", "Unfinished jobs of the "+owner+" by state.", func(t *jobTally, out *samples, name string) {
			for _, b := range []slurm.JobBase{slurm.JobPending, slurm.JobRunning, slurm.JobSuspended} {
				out.addCount(t.inState(b), name, labelSpelling(b.String()))
			}
		}),
		group("cpus", "CPUs that jobs of the "+owner+" have or request.",
			amount(func(a amounts) uint64 { return a.cpus }, 1)),
		group("gpus", "GPUs that jobs of the "+owner+" have or request.",
			amount(func(a amounts) uint64 { return a.gpus }, 1)),
		group("memory_bytes", "Memory that jobs of the "+owner+" have or request.",
			amount(func(a amounts) uint64 { return a.memoryMiB }, mebibyte)),
	}
}

func usersCollector() collector {
	return collector{
		name: "users", set: Native, optIn: true, help: "jobs by user and users in the fair-share tree (many series)",
		needs: []slurmclient.Resource{slurmclient.Jobs, slurmclient.Shares},
		families: append(jobGroupFamilies("user", "user",
			func(v *snapshotView) map[string]*jobTally { return limitTallies(v.jobs.byUser, v.limits.Users) }),
			shareFamilies("slurm_fairshare_user_", []string{"account", "user", "partition"}, func(v *snapshotView) []shareRow {
				var out []shareRow
				for _, s := range v.Shares.Value {
					if s.User {
						out = append(out, shareRow{[]string{s.Parent, s.Name, s.Partition}, s})
					}
				}
				if n := v.limits.Users; n > 0 && len(out) > n {
					out = out[:n]
				}
				return out
			})...),
	}
}

func accountsCollector() collector {
	return collector{
		name: "accounts", set: Native, help: "jobs by account",
		needs: []slurmclient.Resource{slurmclient.Jobs},
		families: jobGroupFamilies("account", "account",
			func(v *snapshotView) map[string]*jobTally { return limitTallies(v.jobs.byAccount, v.limits.Accounts) }),
	}
}

func qosCollector() collector {
	limit := func(name, help string, of func(q slurm.QOS) slurm.Number, unit float64) family {
		return family{name, gauge, help, []string{"qos"}, func(v *snapshotView, out *samples) {
			for _, q := range v.QOS.Value {
				out.addNumber(of(q), unit, q.Name)
			}
		}}
	}
	return collector{
		name: "qos", set: Native, help: "jobs by quality of service, and its limits if there is a slurmdbd",
		needs: []slurmclient.Resource{slurmclient.Jobs, slurmclient.QOS},
		families: append(jobGroupFamilies("qos", "QOS", func(v *snapshotView) map[string]*jobTally { return v.jobs.byQOS }),
			limit("slurm_qos_priority", "Priority of the QOS.", func(q slurm.QOS) slurm.Number { return q.Priority }, 1),
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

func qosTRESFamily(name, help string, of func(q slurm.QOS) map[string]uint64) family {
	return family{name, gauge, help, []string{"qos", "tres"}, func(v *snapshotView, out *samples) {
		for _, q := range v.QOS.Value {
			for _, tres := range sortedKeys(of(q)) {
				out.addCount(of(q)[tres], q.Name, tres)
			}
		}
	}}
}
