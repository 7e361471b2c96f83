package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// limits are the numbers of running jobs that the QOS allow. slurmctld tells of a limit
// by the job's reason, but not while the partition has no node at all: it looks at that
// first, and says PartitionConfig of every job. Of such jobs no more are eligible than
// the limits would let run (sacctmgr(1): GrpJobs, MaxJobsPerUser, MaxJobsPerAccount).
type limits struct {
	byQOS   map[string]*quota
	waiting []waiting
}

// quota is what may still run of a QOS.
type quota struct {
	all                 allowance
	user, account       slurm.Number
	byUser, byAccount   map[string]*allowance
	runByUser, runByAcc map[string]uint64
}

// allowance is how many jobs more may run, if that is limited.
type allowance struct {
	limited bool
	left    uint64
}

// waiting are jobs of one record that a limit may keep from running.
type waiting struct {
	job   *slurm.Job
	jobs  uint64
	exact bool
	quota *quota
}

func newLimits(s *slurmclient.Snapshot) limits {
	l := limits{byQOS: map[string]*quota{}}
	for _, q := range s.QOS.Value {
		all, limited := q.MaxJobs.Value()
		_, perUser := q.MaxJobsPerUser.Value()
		_, perAccount := q.MaxJobsPerAccount.Value()
		if limited || perUser || perAccount {
			l.byQOS[q.Name] = &quota{
				all: allowance{limited, all}, user: q.MaxJobsPerUser, account: q.MaxJobsPerAccount,
				byUser: map[string]*allowance{}, byAccount: map[string]*allowance{},
				runByUser: map[string]uint64{}, runByAcc: map[string]uint64{},
			}
		}
	}
	return l
}

// ran counts a job that runs or is suspended.
func (l *limits) ran(j *slurm.Job) {
	if q := l.byQOS[j.QOS]; q != nil {
		q.all.left -= min(q.all.left, 1)
		q.runByUser[j.UserName]++
		q.runByAcc[j.Account]++
	}
}

// hold keeps eligible jobs until all limits are known, if any may hold for them.
func (l *limits) hold(j *slurm.Job, jobs uint64, exact bool) bool {
	q := l.byQOS[j.QOS]
	if q == nil || j.Reason != "PartitionConfig" || j.HetJobID != 0 {
		return false
	}
	l.waiting = append(l.waiting, waiting{j, jobs, exact, q})
	return true
}

// deal gives what the limits leave to the jobs, those of the highest priority first,
// and calls add for those that may run and for those that may not.
func (l *limits) deal(add func(w waiting, class Class, jobs uint64)) {
	slices.SortFunc(l.waiting, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(b.job.Priority.Or(0), a.job.Priority.Or(0)), cmp.Compare(a.job.ID, b.job.ID))
	})
	for _, w := range l.waiting {
		run := w.quota.take(w.job, w.jobs)
		add(w, ClassCapacity, run)
		add(w, ClassLimit, w.jobs-run)
	}
}

func (q *quota) take(j *slurm.Job, jobs uint64) uint64 {
	of := []*allowance{
		&q.all,
		allowanceOf(q.byUser, j.UserName, q.user, q.runByUser),
		allowanceOf(q.byAccount, j.Account, q.account, q.runByAcc),
	}
	for _, a := range of {
		if a.limited {
			jobs = min(jobs, a.left)
		}
	}
	for _, a := range of {
		a.left -= min(a.left, jobs)
	}
	return jobs
}

// allowanceOf is the allowance of one user or account, made when it is first asked for.
func allowanceOf(known map[string]*allowance, name string, limit slurm.Number, running map[string]uint64) *allowance {
	a := known[name]
	if a == nil {
		most, limited := limit.Value()
		a = &allowance{limited, most - min(most, running[name])}
		known[name] = a
	}
	return a
}
